#include "belfry/graph/variable_scope.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/internal/name_check.h"
#include "belfry/graph/internal/scope_state.h"

namespace belfry {

std::shared_ptr<OpenedVariableScope> root_variable_scope() { return std::make_shared<OpenedVariableScope>(); }

VariableScope::VariableScope(std::string_view name, VariableScopeOptions options, const Location& where) {
  check_name(name, fmt::format("[VariableScope '{}']", name), current_location(where));
  open(join_scope(get_variable_scope().name(), name), std::move(options));
  ScopeState& s = state();
  s.name_scope = opened_name_scope_ = current_graph().open_scope(join_scope(s.name_scope, name));
}

VariableScope::VariableScope(Reopen, VariableScopeOptions options) : opened_name_scope_(current_name_scope()) {
  open(get_variable_scope().name(), std::move(options));
}

std::unique_ptr<VariableScope> VariableScope::reopen(VariableScopeOptions options) {
  return std::unique_ptr<VariableScope>(new VariableScope(Reopen{}, std::move(options)));
}

void VariableScope::open(std::string full_name, VariableScopeOptions options) {
  std::shared_ptr<OpenedVariableScope>& current = state().variable_scope;
  auto opened = std::make_shared<OpenedVariableScope>();
  opened->parent_ = current;
  name_ = full_name;
  opened->name_ = std::move(full_name);
  // Inheritance happens now: a later change of the enclosing scope's reuse does not affect this one.
  opened->reuse_ = options.reuse == Reuse::no ? current->reuse_ : options.reuse;
  opened->initializer_ = options.initializer ? std::move(options.initializer) : current->initializer_;
  opened->regularizer_ = options.regularizer ? std::move(options.regularizer) : current->regularizer_;
  opened->custom_getter_ = std::move(options.custom_getter);
  current = std::move(opened);
}

const std::string& VariableScope::name() const { return name_; }

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
    return variable.with_value(map(variable));
  };
}

}  // namespace belfry
