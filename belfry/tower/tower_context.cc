#include "belfry/tower/tower_context.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/tower/tower_collections.h"

namespace belfry {
namespace {

thread_local TowerContext* current = nullptr;

void add_once(std::vector<Variable>& list, const Variable& variable) {
  if (std::ranges::find(list, variable) == list.end()) list.push_back(variable);
}

template <class T>
std::vector<T> beyond(std::vector<T> items, std::size_t count) {
  items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(std::min(count, items.size())));
  return items;
}

void check_options(std::string_view name, bool is_training, const TowerOptions& o) {
  if (current != nullptr)
    fail(
        "[TowerContext '{}'] expected no tower to be open on this thread, got '{}'. Towers do not nest: leave that one "
        "first.",
        name, current->name());
  BELFRY_CHECK(name.empty() || (name.front() != '/' && name.back() != '/'),
               "[TowerContext '{}'] expected a name without '/' at its ends, got '{}'. Choose another name.", name,
               name);
  BELFRY_CHECK(
      o.total >= 1 && o.index >= 0 && o.index < o.total,
      "[TowerContext '{}'] expected an index from 0 to total - 1, got index {} of {}. Pass both .index and .total.",
      name, o.index, o.total);
  BELFRY_CHECK(!is_training || o.index == 0 || !name.empty(),
               "[TowerContext] expected a name for training tower {}, got an empty one. Only the first may go without.",
               o.index);
  BELFRY_CHECK(
      o.variable_scope.empty() || !name.empty(),
      "[TowerContext] expected a name for the tower with variable scope '{}', got an empty one. Name the tower too.",
      o.variable_scope);
  const std::string& outer = get_variable_scope().name();
  BELFRY_CHECK(!is_training || outer.empty(),
               "[TowerContext '{}'] expected a training tower at the root variable scope, got '{}'. Leave that scope "
               "first, or pass "
               ".variable_scope.",
               name, outer);
}

Reuse choose_reuse(bool is_training, const TowerOptions& o) {
  if (o.reuse) return *o.reuse;
  if (is_training) return o.index > 0 && o.variable_scope.empty() ? Reuse::yes : Reuse::no;
  return current_graph().collections().size(collection::kTrainableVariables) > 0 ? Reuse::yes : Reuse::no;
}

}  // namespace

struct TowerContext::Impl {
  Graph& graph;
  std::string name;
  bool is_training;
  TowerOptions options;
  bool own_variables = true;
  std::string name_scope{};
  Collections before{};
  std::size_t variables_before = 0;
  std::vector<Variable> used{};
  // Left in the reverse order, as blocks are.
  std::unique_ptr<VariableScope> variables{};
  std::unique_ptr<NameScope> names{};
  std::unique_ptr<ReplicaScope> replica{};
};

TowerContext::TowerContext(std::string_view name, bool is_training, TowerOptions options) {
  Graph& graph = current_graph();
  check_options(name, is_training, options);
  impl_ = std::make_unique<Impl>(Impl{graph, std::string(name), is_training, std::move(options)});
  Impl& tower = *impl_;
  const Reuse reuse = choose_reuse(is_training, tower.options);
  tower.own_variables = reuse != Reuse::yes;
  tower.before = graph.collections();
  tower.variables_before = graph.variables().size();
  VariableScopeOptions scope{.reuse = reuse};
  scope.custom_getter = [&tower](const VariableGetter& next, const std::string& full_name,
                                 const VariableOptions& variable_options) {
    const Variable variable = next(full_name, variable_options);
    add_once(tower.used, variable);
    return variable;
  };
  tower.variables = tower.options.variable_scope.empty()
                        ? VariableScope::reopen(std::move(scope))
                        : std::make_unique<VariableScope>(tower.options.variable_scope, std::move(scope));
  if (!tower.name.empty()) tower.names = NameScope::at(tower.name);
  tower.name_scope = current_name_scope();
  tower.replica = std::make_unique<ReplicaScope>(tower.options.index);
  current = this;
}

TowerContext::~TowerContext() {
  current = nullptr;
  const bool main = is_main_training_tower();
  keep_trace(impl_->graph.collections(), impl_->before,
             {.training = impl_->is_training,
              .main = main,
              .local_variables = !main && (impl_->is_training || !impl_->own_variables)});
}

const std::string& TowerContext::name() const { return impl_->name; }
int TowerContext::index() const { return impl_->options.index; }
int TowerContext::total() const { return impl_->options.total; }
bool TowerContext::is_training() const { return impl_->is_training; }
bool TowerContext::is_main_training_tower() const { return impl_->is_training && impl_->options.index == 0; }
bool TowerContext::has_own_variables() const { return impl_->own_variables; }
const std::string& TowerContext::variable_scope() const { return impl_->options.variable_scope; }
const std::string& TowerContext::name_scope() const { return impl_->name_scope; }

std::vector<Variable> TowerContext::variables() const {
  std::vector<Variable> all = impl_->used;
  for (const Variable& made : beyond(impl_->graph.variables(), impl_->variables_before)) add_once(all, made);
  return all;
}

std::vector<Variable> TowerContext::trainable_variables() const {
  std::vector<Variable> all = impl_->used;
  std::erase_if(all, [](const Variable& v) { return !v.trainable(); });
  return all;
}

std::vector<Tensor> TowerContext::collected_tensors(std::string_view collection) const {
  return beyond(impl_->graph.collections().tensors(collection), impl_->before.tensors(collection).size());
}

std::vector<Operation> TowerContext::collected_operations(std::string_view collection) const {
  return beyond(impl_->graph.collections().operations(collection), impl_->before.operations(collection).size());
}

TowerContext* current_tower_context_or_null() { return current; }

TowerContext& get_current_tower_context() {
  BELFRY_CHECK(
      current != nullptr,
      "[get_current_tower_context] expected to be called while a tower is built, got no open tower on this thread. "
      "Enter one first: TrainTowerContext tower(\"\");");
  return *current;
}

}  // namespace belfry
