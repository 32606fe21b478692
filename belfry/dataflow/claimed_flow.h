// A flow that another one draws on, and that no other may draw on as long as this lives.
#pragma once

#include <string_view>

#include "belfry/dataflow/flow.h"

#pragma GCC visibility push(default)
namespace belfry {

class ClaimedFlow {
 public:
  // Puts the flow back to the start of epoch 0. Throws if the handle is empty or another flow draws on it already;
  // `by` names who asks, for messages.
  ClaimedFlow(Flow flow, std::string_view by);
  ~ClaimedFlow();
  ClaimedFlow(ClaimedFlow&&) noexcept = default;
  ClaimedFlow& operator=(ClaimedFlow&&) = delete;

  DataFlow& operator*() const { return *flow_; }
  DataFlow* operator->() const { return &*flow_; }

 private:
  Flow flow_;  // empty once moved from
};

}  // namespace belfry
#pragma GCC visibility pop
