#include "belfry/nn/hyper_param.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/variable_scope.h"
#include "belfry/nn/initializers.h"

namespace belfry {

Variable hyper_param(std::string_view name, float value, const Location& where) {
  const auto scope = VariableScope::reopen({.reuse = Reuse::automatic});
  const Variable variable = get_variable(name, {.initializer = init::constant(value), .trainable = false}, where);
  const auto before = static_cast<float>(variable.initial_value().node()->attributes.get_or<double>("value", value));
  BELFRY_CHECK(
      before == value,
      "[hyper_param '{}'] expected the value {} as when it was created, got {} {} (at {}). Choose another name.",
      variable.name(), before, value, made_at(*variable.node()), to_string(where));
  return variable;
}

}  // namespace belfry
