// What a stage has to read again after restore(), before its next point.
//
// Not in restore() itself: a source may wait in next() until others are restored too, as fan_out() does.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "belfry/dataflow/flow_state.h"
#include "belfry/dataflow/internal/flow_checks.h"

namespace belfry {

class CatchUp {
 public:
  // The stage stands at `state`, once it has read what that takes.
  void owe(FlowState state) {
    state_ = std::move(state);
    failed_ = false;
  }
  void clear() { state_.reset(); }

  // What was restored, as long as the reading is owed: else null.
  const FlowState* state() const { return state_ ? &*state_ : nullptr; }

  // Calls read(state) if it is owed. If that throws, the source stands somewhere on the way, and so it stays owed.
  template <class Read>
  void settle(std::string_view kind, Read&& read) {
    if (!state_) return;
    check_goes_on(!failed_, kind);
    failed_ = true;
    read(std::as_const(*state_));
    state_.reset();
  }

 private:
  std::optional<FlowState> state_;
  bool failed_ = false;
};

}  // namespace belfry
