#include "belfry/graph/variable.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/base/internal/nearest.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/internal/ancestors.h"
#include "belfry/graph/internal/foreign_handle.h"
#include "belfry/graph/internal/graph_transaction.h"
#include "belfry/graph/internal/name_check.h"
#include "belfry/graph/internal/scope_state.h"
#include "belfry/graph/internal/state_ops.h"

namespace belfry {

Operand::Operand(const Variable& variable, const Location& where)
    : tensor_(variable.value_here(where)), variable_(variable.handle()), where_(where) {}

Variable Variable::with_value(const Tensor& value) const {
  Variable out = *this;
  out.value_ = value;
  return out;
}

const std::string& Variable::name() const {
  BELFRY_CHECK(
      static_cast<bool>(handle_),
      "[Variable] expected a variable, got an empty handle. Assign it first, for example from get_variable().");
  return Operation(handle_).name();
}
bool Variable::trainable() const { return handle_.graph().record(node()).trainable; }
Tensor Variable::initial_value() const { return handle_.graph().record(node()).initial_value; }
Tensor Variable::read(const Location& where) const {
  return add_tensor(read_variable_op(), {Operand(handle(), where)});
}
Tensor Variable::value_here(const Location& where) const {
  const ScopeState& scope = scope_state();
  if (scope.control.empty() || value_ != handle_ || !belongs_to(handle_, *scope.graph)) return value_;
  const bool assigned =
      std::ranges::any_of(with_ancestors(scope.control), [&](const Node* before) { return assigns(*before, node()); });
  return assigned ? read(where) : value_;
}
// A conversion cannot know the line it is in; the variable's own line is at least the user's.
Variable::operator Tensor() const {
  if (!handle_) return {};
  name();  // throws if the graph is gone
  return value_here(node()->where);
}
Tensor Variable::assign(const Operand& value) const {
  return add_tensor(assign_op(), {Operand(handle(), value.where()), value});
}
Tensor Variable::assign_add(const Operand& delta) const {
  return add_tensor(assign_add_op(), {Operand(handle(), delta.where()), delta});
}
Tensor Variable::assign_sub(const Operand& delta) const {
  return add_tensor(assign_sub_op(), {Operand(handle(), delta.where()), delta});
}

// Finds or creates under the rules of reuse; runs the custom getters from the innermost scope outwards.
class VariableLookup {
 public:
  static Variable get(std::string_view name, const VariableOptions& options, const Location& where) {
    const LocationScope location(where);
    const OutermostGraphScope outermost;
    const auto& scope = scope_state().variable_scope;
    VariableOptions full = options;
    if (!full.initializer) full.initializer = scope->initializer_;
    if (!full.regularizer) full.regularizer = scope->regularizer_;
    return run_getters(scope.get(), join_scope(scope->name_, name), full, where);
  }

  static Variable create(const std::string& name, const VariableOptions& options, const Location& where) {
    BELFRY_CHECK(
        options.shape.is_concrete(),
        "[get_variable '{}'] expected a shape without unknown dimensions, got {} (made at {}). Give every one a "
        "size: a variable keeps its shape.",
        name, to_string(options.shape), to_string(where));
    BELFRY_CHECK(!options.trainable || is_float(options.dtype),
                 "[get_variable '{}'] expected a float type to train, got {}. Pass .trainable = false (made at {}).",
                 name, name_of(options.dtype), to_string(where));
    Graph& graph = current_graph();
    GraphTransaction transaction(graph);
    // A variable's name does not depend on name scopes, nor its initial value on control dependencies.
    const auto root = NameScope::at("");
    const ClearControlDependencies free;
    VariableRecord record{.initial_value = {}, .trainable = options.trainable};
    const std::string& prefix = scope_state().tower_prefix;
    if (!prefix.empty() && name.starts_with(prefix + "/")) record.tower_prefix = prefix;
    {
      const auto inside = NameScope::at(name + "/init");
      record.initial_value =
          (options.initializer ? options.initializer : default_initializer())(options.shape, options.dtype);
    }
    BELFRY_CHECK(
        record.initial_value.shape() == options.shape && record.initial_value.dtype() == options.dtype,
        "[get_variable '{}'] expected an initial value of {} {}, got {} {} (made at {}). The initializer must make "
        "the shape and type that it is given; or request a variable of the shape and type that it makes.",
        name, name_of(options.dtype), to_string(options.shape), name_of(record.initial_value.dtype()),
        to_string(record.initial_value.shape()), to_string(where));
    const Tensor node = add_tensor(variable_op(), {},
                                   {.name = name, .attributes = {{"shape", options.shape}, {"dtype", options.dtype}}});
    const Variable variable = graph.add_variable(node.node(), record);
    add_to_collections(graph, variable, options);
    transaction.keep();
    return variable;
  }

 private:
  static Variable run_getters(const OpenedVariableScope* scope, const std::string& name, const VariableOptions& options,
                              const Location& where) {
    for (; scope != nullptr; scope = scope->parent_.get()) {
      if (!scope->custom_getter_) continue;
      const VariableGetter next = [outer = scope->parent_.get(), &where](const std::string& n,
                                                                         const VariableOptions& o) {
        return run_getters(outer, n, o, where);
      };
      return scope->custom_getter_(next, name, options);
    }
    return find_or_create(name, options, where);
  }

  static Variable find_or_create(const std::string& name, const VariableOptions& options, const Location& where) {
    Graph& graph = current_graph();
    const OpenedVariableScope& scope = get_variable_scope();
    const Variable found = graph.find_variable(name);
    const bool exists = static_cast<bool>(found);
    const std::string scopes = fmt::format("variable scope '{}', name scope '{}', at {}", scope.name(),
                                           current_name_scope(), to_string(where));
    BELFRY_CHECK(!exists || scope.reuse() != Reuse::no,
                 "[get_variable '{}'] expected a new variable, got one that exists already {}. Choose another name or, "
                 "to share it, enter VariableScope::reopen({{.reuse = Reuse::yes}}) first; after a failed attempt, "
                 "Reuse::automatic finds what exists and makes the rest ({}).",
                 name, exists ? made_at(*found.node()) : "", scopes);
    BELFRY_CHECK(
        exists || scope.reuse() != Reuse::yes,
        "[get_variable '{}'] expected a variable that exists, got none under reuse.{} Create it first, or enter "
        "VariableScope::reopen({{.reuse = Reuse::automatic}}) to make what is missing ({}).",
        name, exists ? "" : did_you_mean(name, names_of(graph.variables())), scopes);
    if (!exists) return create(name, options, where);
    BELFRY_CHECK(found.shape() == options.shape && found.dtype() == options.dtype,
                 "[get_variable '{}'] expected {} {} as when it was created, got {} {} under reuse ({}).", name,
                 name_of(found.dtype()), to_string(found.shape()), name_of(options.dtype), to_string(options.shape),
                 scopes);
    return found;
  }

  static std::vector<std::string> names_of(const std::vector<Variable>& variables) {
    std::vector<std::string> out;
    for (const Variable& v : variables) out.push_back(v.name());
    return out;
  }

  static void add_to_collections(Graph& graph, const Variable& variable, const VariableOptions& options) {
    Collections& c = graph.collections();
    if (options.collections.empty()) c.add(collection::kGlobalVariables, variable);
    for (const std::string& name : options.collections) c.add(name, variable);
    if (options.trainable) c.add(collection::kTrainableVariables, variable);
    if (options.regularizer && options.trainable) {
      const auto inside = NameScope::at(variable.name() + "/regularizer");
      c.add(collection::kRegularizationLosses, options.regularizer(variable.value()));
    }
  }
};

Variable get_variable(std::string_view name, const VariableOptions& options, const Location& given) {
  const Location where = current_location(given);  // inside a layer: the line that used the layer
  current_graph();
  check_name(name, fmt::format("[get_variable '{}']", name), where);
  return VariableLookup::get(name, options, where);
}

Variable new_variable(std::string_view name, VariableOptions options, const Location& given) {
  const Location where = current_location(given);
  const LocationScope location(where);
  check_name(name, fmt::format("[new_variable '{}']", name), where);
  const OutermostGraphScope outermost;
  options.trainable = false;
  const std::string wanted = join_scope(get_variable_scope().name(), name);
  return VariableLookup::create(current_graph().unique_name(wanted), options, where);
}

}  // namespace belfry
