#include "belfry/graph/variable_scope.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope_state.h"

namespace belfry {

std::shared_ptr<OpenedVariableScope> root_variable_scope() { return std::make_shared<OpenedVariableScope>(); }

VariableScope::VariableScope(std::string_view name, VariableScopeOptions options) {
  BELFRY_CHECK(!name.empty() && name.front() != '/' && name.back() != '/',
               "[VariableScope] expected a name without '/' at its ends, got \"{}\"", name);
  ScopeState& s = state();
  auto opened = std::make_shared<OpenedVariableScope>();
  opened->parent_ = s.variable_scope;
  opened->name_ = join_scope(s.variable_scope->name_, name);
  // Inheritance happens now: a later change of the enclosing scope's reuse does not reach in here.
  opened->reuse_ = options.reuse == Reuse::no ? s.variable_scope->reuse_ : options.reuse;
  opened->initializer_ = options.initializer ? std::move(options.initializer) : s.variable_scope->initializer_;
  opened->regularizer_ = options.regularizer ? std::move(options.regularizer) : s.variable_scope->regularizer_;
  opened->custom_getter_ = std::move(options.custom_getter);
  s.variable_scope = std::move(opened);
  s.name_scope = opened_name_scope_ = current_graph().open_scope(join_scope(s.name_scope, name));
}

const std::string& VariableScope::name() const { return scope_state().variable_scope->name(); }

OpenedVariableScope& get_variable_scope() {
  current_graph();
  return *scope_state().variable_scope;
}

CustomGetter freeze_getter() {
  return [](const VariableGetter& next, const std::string& name, const VariableOptions& options) {
    VariableOptions frozen = options;
    frozen.trainable = false;
    frozen.collections.emplace_back(collection::kModelVariables);
    if (options.collections.empty()) frozen.collections.emplace_back(collection::kGlobalVariables);
    return next(name, frozen);
  };
}

CustomGetter remap_getter(std::function<Tensor(const Tensor&)> map) {
  return [map = std::move(map)](const VariableGetter& next, const std::string& name, const VariableOptions& options) {
    const Variable variable = next(name, options);
    return variable.with_value(map(variable.value()));
  };
}

}  // namespace belfry
