#include "belfry/dataflow/stage_flow.h"

namespace belfry {

StageFlow::StageFlow(Flow source, std::string kind, std::string label, FlowParameters parameters)
    : source_(std::move(source), kind),
      kind_(std::move(kind)),
      label_(std::move(label)),
      identity_{.kind = kind_, .parameters = std::move(parameters), .from = {source_->identity()}},
      identity_text_(identity_text(identity_)) {}

StageFlow::StageFlow(Flow source, std::string kind, std::string label, SamePoints)
    : source_(std::move(source), kind),
      kind_(std::move(kind)),
      label_(std::move(label)),
      identity_(source_->identity()),
      identity_text_(identity_text(identity_)) {}

void StageFlow::restore(const FlowState& state) {
  state.expect_identity(identity_text_);
  state.expect(kind_, 1);
  source_->restore(state.from[0]);
}

}  // namespace belfry
