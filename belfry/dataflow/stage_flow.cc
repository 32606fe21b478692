#include "belfry/dataflow/stage_flow.h"

namespace belfry {

StageFlow::StageFlow(Flow source, std::string kind, std::string label)
    : source_(std::move(source), kind), kind_(std::move(kind)), label_(std::move(label)) {}

void StageFlow::restore(const FlowState& state) {
  state.expect(kind_, 1);
  source_->restore(state.from[0]);
}

}  // namespace belfry
