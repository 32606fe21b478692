#include "belfry/nn/internal/train_op.h"

#include "belfry/graph/graph.h"
#include "belfry/ops/basic.h"

namespace belfry {

TrainOpScope::TrainOpScope(std::string_view wanted, std::string_view default_name)
    : wanted_(wanted), scope_(std::make_unique<NameScope>(wanted.empty() ? default_name : wanted)) {}

Operation TrainOpScope::group(const std::vector<Operation>& updates, const Location& where) {
  const std::string full_name = scope_->name();
  scope_.reset();
  if (!wanted_.empty()) return belfry::group(updates, wanted_, where);
  const auto root = NameScope::at("");
  return belfry::group(updates, current_graph().unique_name(full_name), where);
}

}  // namespace belfry
