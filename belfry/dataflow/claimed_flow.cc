#include "belfry/dataflow/claimed_flow.h"

#include "belfry/base/check.h"

namespace belfry {

ClaimedFlow::ClaimedFlow(Flow flow, std::string_view by) {
  BELFRY_CHECK(flow, "[{}] expected a flow to draw on, got an empty handle. Assign one first.", by);
  BELFRY_CHECK(!flow->feeds_another_,
               "[{}] expected a flow that feeds no other, got '{}', which feeds another flow already: the two would "
               "take each other's points. Build a second flow, or share this one with fan_out().",
               by, flow->describe());
  flow->reset_state();
  flow->feeds_another_ = true;
  flow_ = std::move(flow);
}

ClaimedFlow::~ClaimedFlow() {
  if (flow_) flow_->feeds_another_ = false;
}

}  // namespace belfry
