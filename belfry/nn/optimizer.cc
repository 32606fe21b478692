#include "belfry/nn/optimizer.h"

#include "belfry/base/check.h"
#include "belfry/graph/gradients.h"
#include "belfry/graph/graph.h"
#include "belfry/tower/tower_context.h"

namespace belfry {
namespace {

std::vector<Variable> default_variables(const std::string& optimizer, const Location& where) {
  const TowerContext* tower = current_tower_context_or_null();
  // A tower with separate variables trains those; any other trains those of the graph, made inside it or before.
  std::vector<Variable> all = tower != nullptr && !tower->variable_scope().empty()
                                  ? tower->trainable_variables()
                                  : current_graph().collections().variables(collection::kTrainableVariables);
  BELFRY_CHECK(!all.empty(),
               "[{}] expected trainable variables in {}, got none (at {}). Make some before the optimizer, or pass the "
               "variables to train.",
               optimizer, tower != nullptr ? fmt::format("tower '{}'", tower->name()) : "the graph", to_string(where));
  return all;
}

}  // namespace

GradientsAndVariables Optimizer::compute_gradients(const Tensor& cost, const std::vector<Variable>& variables,
                                                   const Location& where) {
  BELFRY_CHECK(static_cast<bool>(cost), "[{}] expected a cost, got an empty tensor (at {})", name(), to_string(where));
  BELFRY_CHECK(cost.rank() == 0 && is_float(cost.dtype()),
               "[{}] expected a scalar float as cost, got '{}' {} {} (at {}). Reduce it first, with reduce_mean() say.",
               name(), cost.name(), name_of(cost.dtype()), to_string(cost.shape()), to_string(where));
  BELFRY_CHECK(
      !variables.empty(),
      "[{}] expected variables to train, got an empty list (at {}). Omit the list to train all trainable variables.",
      name(), to_string(where));
  const LocationScope location(where);
  const Tensors grads = gradients(cost, variables, {}, where);
  GradientsAndVariables out;
  for (std::size_t i = 0; i < variables.size(); ++i) out.push_back({grads[i], variables[i]});
  return out;
}

GradientsAndVariables Optimizer::compute_gradients(const Tensor& cost, const Location& where) {
  return compute_gradients(cost, default_variables(name(), where), where);
}

Operation Optimizer::minimize(const Tensor& cost, std::string_view name, const Location& where) {
  return apply_gradients(compute_gradients(cost, where), name, where);
}

Operation Optimizer::minimize(const Tensor& cost, const std::vector<Variable>& variables, std::string_view name,
                              const Location& where) {
  return apply_gradients(compute_gradients(cost, variables, where), name, where);
}

}  // namespace belfry
