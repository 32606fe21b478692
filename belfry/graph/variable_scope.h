// Variable scopes: names, reuse and defaults of variables. Separate from name scopes, though entering one also opens
// a name scope of the same name, so that a layer's ops and variables sit together.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "belfry/graph/scope.h"
#include "belfry/graph/variable.h"

#pragma GCC visibility push(default)
namespace belfry {

enum class Reuse { no, yes, automatic };

// The rest of the lookup, with the full name and final options.
using VariableGetter = std::function<Variable(const std::string& full_name, const VariableOptions& options)>;
// Wraps the lookup of every variable under a scope: freeze, rename, log. Calls `next` (or does not).
using CustomGetter =
    std::function<Variable(const VariableGetter& next, const std::string& full_name, const VariableOptions& options)>;

struct VariableScopeOptions {
  Reuse reuse = Reuse::no;    // `no` inherits the enclosing scope's reuse
  Initializer initializer{};  // default initialiser of variables below
  Regularizer regularizer{};
  CustomGetter custom_getter{};  // runs before the getters of enclosing scopes
};

class OpenedVariableScope;

class VariableScope : private ScopeGuard {
 public:
  explicit VariableScope(std::string_view name, VariableScopeOptions options = {},
                         const Location& where = Location::current());
  // Opens the current scope (the root too) again with other options: same name, and no name scope is opened.
  static std::unique_ptr<VariableScope> reopen(VariableScopeOptions options);
  const std::string& name() const;  // full
  const std::string& name_scope() const { return opened_name_scope_; }

 private:
  struct Reopen {};
  VariableScope(Reopen, VariableScopeOptions options);
  void open(std::string full_name, VariableScopeOptions options);
  std::string name_, opened_name_scope_;
};

// One opened scope, as seen from inside. Reuse is its own property: changing it changes this opening only.
class OpenedVariableScope {
 public:
  const std::string& name() const { return name_; }
  Reuse reuse() const { return reuse_; }
  void reuse_variables() { reuse_ = Reuse::yes; }
  const std::shared_ptr<OpenedVariableScope>& parent() const { return parent_; }

 private:
  friend class VariableScope;
  friend class VariableLookup;
  friend std::shared_ptr<OpenedVariableScope> root_variable_scope();
  std::string name_;
  Reuse reuse_ = Reuse::no;
  Initializer initializer_;
  Regularizer regularizer_;
  CustomGetter custom_getter_;
  std::shared_ptr<OpenedVariableScope> parent_;
};

OpenedVariableScope& get_variable_scope();

// Getters for custom_getter: variables below are not trained / are seen through `map`.
CustomGetter freeze_getter();
CustomGetter remap_getter(std::function<Tensor(const Tensor& value)> map);

}  // namespace belfry
#pragma GCC visibility pop
