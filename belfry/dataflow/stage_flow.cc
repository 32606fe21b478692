#include "belfry/dataflow/stage_flow.h"

#include "belfry/base/check.h"

namespace belfry {

StageFlow::StageFlow(Flow source, std::string kind, std::string label)
    : source_(std::move(source)), kind_(std::move(kind)), label_(std::move(label)) {
  BELFRY_CHECK(source_, "[{}] expected a flow to draw on, got an empty handle. Assign one first.", kind_);
  BELFRY_CHECK(
      !source_->feeds_another_,
      "[{}] expected a flow that nobody reads, got '{}', which feeds another flow already: they would take each "
      "other's points. Make a second one.",
      kind_, source_->describe());
  source_->reset_state();
  source_->feeds_another_ = true;
}

StageFlow::~StageFlow() { source_->feeds_another_ = false; }

void StageFlow::restore(const FlowState& state) {
  state.expect(kind_, 1);
  source_->restore(state.from[0]);
}

}  // namespace belfry
