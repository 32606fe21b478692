#include "belfry/nn/hyper_param.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/graph/collections.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/graph/variable_scope.h"
#include "belfry/nn/initializers.h"
#include "belfry/tower/tower_context.h"

namespace belfry {
namespace {

// Under the current variable scope, without the prefix of a tower with separate variables.
std::string name_in_every_tower(std::string_view name) {
  std::string scope = get_variable_scope().name();
  const TowerContext* tower = current_tower_context_or_null();
  if (tower != nullptr && !tower->variable_scope().empty())
    scope.erase(0, std::min(scope.size(), tower->variable_scope().size() + 1));
  return scope.empty() ? std::string(name) : scope + "/" + std::string(name);
}

}  // namespace

Variable hyper_param(std::string_view name, float value, const Location& where) {
  const std::string full_name = name_in_every_tower(name);
  const GraphScope root(current_graph().outermost());  // one for all towers, even those with separate variables
  const auto scope = VariableScope::reopen({.reuse = Reuse::automatic});
  const Variable variable = get_variable(full_name, {.initializer = init::constant(value), .trainable = false}, where);
  const auto before = static_cast<float>(variable.initial_value().node()->attributes.get_or<double>("value", value));
  BELFRY_CHECK(
      before == value,
      "[hyper_param '{}'] expected the value {}, with which it was created, got {} {} (at {}). Choose another name.",
      variable.name(), before, value, made_at(*variable.node()), to_string(where));
  Collections& collections = current_graph().collections();
  const std::vector<Variable> known = collections.variables(collection::kHyperParams);
  if (std::ranges::find(known, variable) == known.end()) collections.add(collection::kHyperParams, variable);
  return variable;
}

}  // namespace belfry
