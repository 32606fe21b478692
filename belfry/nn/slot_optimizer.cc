#include "belfry/nn/slot_optimizer.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/base/log.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/nn/initializers.h"
#include "belfry/nn/update_ops.h"
#include "belfry/ops/basic.h"

namespace belfry {
namespace {

std::string list(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += fmt::format("{}'{}'", out.empty() ? "" : ", ", name);
  return out;
}

// The entries that have a gradient; complains about the others, and about a variable given twice.
GradientsAndVariables connected(const GradientsAndVariables& all, const std::string& optimizer, const Location& where) {
  BELFRY_CHECK(!all.empty(), "[{}] expected gradients to apply, got an empty list (at {})", optimizer,
               to_string(where));
  GradientsAndVariables out;
  std::vector<std::string> without;
  for (const GradientAndVariable& item : all) {
    BELFRY_CHECK(std::ranges::none_of(out, [&](const GradientAndVariable& o) { return o.variable == item.variable; }),
                 "[{}] expected each variable once, got '{}' twice (at {}). Add its gradients up first.", optimizer,
                 item.variable.name(), to_string(where));
    if (item.gradient)
      out.push_back(item);
    else
      without.push_back(item.variable.name());
  }
  BELFRY_CHECK(!out.empty(),
               "[{}] expected a cost that depends on the variables to train, got no gradient for {} (at {}). "
               "Look for a stop_gradient, a cast to integers, or the wrong variables.",
               optimizer, list(without), to_string(where));
  if (!without.empty())
    log_warning(
        fmt::format("[{}] no gradient for {} (at {}): not updated.", optimizer, list(without), to_string(where)));
  return out;
}

}  // namespace

Operation SlotOptimizer::apply_gradients(const GradientsAndVariables& gradients, std::string_view wanted,
                                         const Location& where) {
  const LocationScope location(where);
  const GradientsAndVariables items = connected(gradients, name(), where);
  std::vector<Operation> updates = update_ops_for(items);
  std::string full_name;
  {
    const NameScope scope(wanted.empty() ? name() : wanted);
    full_name = scope.name();
    const Tensor rate = learning_rate_.tensor();
    begin(items.front().variable);
    for (const GradientAndVariable& item : items) {
      const DeviceScope device(item.variable.node()->device);  // an update runs where the variable lives
      updates.emplace_back(update(item.variable, rate, item.gradient, "update_" + item.variable.name()));
    }
  }
  // A name that was asked for must be free; the default is made unique together with its scope.
  if (!wanted.empty()) return group(updates, wanted, where);
  const auto root = NameScope::at("");
  return group(updates, current_graph().unique_name(full_name), where);
}

Variable SlotOptimizer::state_of(const Variable& owner, const std::string& full_name, const Shape& shape, DType dtype,
                                 double initial) {
  const auto key = std::make_pair(static_cast<const Node*>(owner.node()), full_name);
  if (const auto at = state_.find(key); at != state_.end()) return at->second;
  Graph& graph = *owner.node()->graph;
  const std::vector<Variable> saved = graph.collections().variables(collection::kGlobalVariables);
  const bool owner_is_saved = std::ranges::find(saved, owner) != saved.end();
  const GraphScope root(graph);  // the name is complete: no scope adds to it
  const DeviceScope device(owner.node()->device);
  const ReplicaScope replica(owner.node()->tower);
  return state_[key] =
             new_variable(full_name, {.shape = shape,
                                      .dtype = dtype,
                                      .initializer = init::constant(initial),
                                      .collections = {std::string(owner_is_saved ? collection::kGlobalVariables
                                                                                 : collection::kLocalVariables)}});
}

}  // namespace belfry
