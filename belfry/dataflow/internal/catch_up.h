// What a stage has to read again after restore(), before its next point.
//
// Not in restore() itself: a source may wait in next() until others are restored too, as fan_out() does.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "belfry/dataflow/flow_state.h"
#include "belfry/dataflow/internal/pass_guard.h"

namespace belfry {

class CatchUp {
 public:
  // The stage stands at `state`, once it has read what that takes.
  void owe(FlowState state) {
    state_ = std::move(state);
    pass_.begin();
  }
  void clear() { state_.reset(); }

  // What was restored, as long as the reading is owed: else null.
  const FlowState* state() const { return state_ ? &*state_ : nullptr; }

  // Calls read(state) if it is owed. If that throws, the source stands somewhere on the way, and so it stays owed.
  template <class Read>
  void settle(std::string_view kind, Read&& read) {
    if (!state_) return;
    pass_.reading(kind, [&] { read(std::as_const(*state_)); });
    state_.reset();
  }

 private:
  std::optional<FlowState> state_;
  PassGuard pass_;
};

}  // namespace belfry
