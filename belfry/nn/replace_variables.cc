#include "belfry/nn/replace_variables.h"

#include <algorithm>
#include <vector>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/basic.h"

namespace belfry {

namespace {

struct Frozen {
  const Graph* graph = nullptr;
  BatchStatistics statistics = BatchStatistics::move;
};
// The scopes that this thread is in.
thread_local std::vector<Frozen> frozen;

std::unique_ptr<VariableScope> open_frozen(const FreezeOptions& options) {
  const CustomGetter without_training = freeze_getter();
  return VariableScope::reopen(
      {.custom_getter = [options, without_training](const VariableGetter& next, const std::string& name,
                                                    const VariableOptions& given) {
        if (!given.trainable) return next(name, given);
        const Variable variable = options.skip_collection ? without_training(next, name, given) : next(name, given);
        return options.stop_gradient ? variable.with_value(stop_gradient(variable)) : variable;
      }});
}

}  // namespace

FrozenVariables::FrozenVariables(const FreezeOptions& options) : scope_(open_frozen(options)) {
  frozen.push_back({&current_graph().outermost(), options.batch_statistics});
}
FrozenVariables::~FrozenVariables() { frozen.pop_back(); }

BatchStatistics frozen_batch_statistics() {
  const Graph* graph = &current_graph().outermost();
  auto out = BatchStatistics::move;
  for (const Frozen& scope : frozen)
    if (scope.graph == graph) out = std::max(out, scope.statistics);
  return out;
}

std::unique_ptr<VariableScope> remap_variables(std::function<Tensor(const Variable&)> map, const Location& where) {
  BELFRY_CHECK(static_cast<bool>(map), "[remap_variables] expected a function, got an empty one (at {})",
               to_string(where));
  return VariableScope::reopen(
      {.custom_getter = [map = std::move(map), where](const VariableGetter& next, const std::string& name,
                                                      const VariableOptions& given) {
        const Variable variable = next(name, given);
        const Tensor seen = map(variable);
        BELFRY_CHECK(seen && seen.dtype() == variable.dtype() && compatible(seen.shape(), variable.shape()),
                     "[remap_variables] expected a tensor of {} {} for '{}', got {} (at {}). Return the variable "
                     "itself to leave it unchanged.",
                     name_of(variable.dtype()), to_string(variable.shape()), variable.name(), to_string(seen),
                     to_string(where));
        return variable.with_value(seen);
      }});
}

}  // namespace belfry
