#include "belfry/tower/tower_context.h"

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/internal/graph_transaction.h"
#include "belfry/graph/internal/name_check.h"
#include "belfry/graph/scope.h"
#include "belfry/tower/internal/tower_collections.h"

namespace belfry {
namespace {

thread_local TowerContext* current = nullptr;

template <class T>
std::vector<T> beyond(std::vector<T> items, std::size_t count) {
  items.erase(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(std::min(count, items.size())));
  return items;
}

void check_options(std::string_view name, bool is_training, const TowerOptions& o, const Location& where) {
  if (current != nullptr)
    fail(
        "[TowerContext '{}'] expected no tower to be open on this thread, got '{}'. Towers do not nest: end that one "
        "first.",
        name, current->name());
  if (!name.empty()) check_name(name, fmt::format("[TowerContext '{}']", name), where);
  BELFRY_CHECK(
      o.total >= 1 && o.index >= 0 && o.index < o.total,
      "[TowerContext '{}'] expected an index from 0 to total - 1, got index {} of {}. Pass both .index and .total.",
      name, o.index, o.total);
  BELFRY_CHECK(
      !is_training || o.index == 0 || !name.empty(),
      "[TowerContext] expected a name for training tower {}, got an empty one. Only the first may have no name.",
      o.index);
  BELFRY_CHECK(
      o.variable_scope.empty() || !name.empty(),
      "[TowerContext] expected a name for the tower with variable scope '{}', got an empty one. Name the tower too.",
      o.variable_scope);
  const std::string& outer = get_variable_scope().name();
  BELFRY_CHECK(!is_training || outer.empty(),
               "[TowerContext '{}'] expected a training tower at the root variable scope, got '{}'. End that scope "
               "first, or pass .variable_scope.",
               name, outer);
}

Reuse choose_reuse(bool is_training, const TowerOptions& o) {
  if (o.reuse) return *o.reuse;
  if (is_training) return o.index > 0 && o.variable_scope.empty() ? Reuse::yes : Reuse::no;
  return std::ranges::any_of(current_graph().variables(), &Variable::trainable) ? Reuse::yes : Reuse::no;
}

}  // namespace

struct TowerContext::Impl {
  Graph& graph;
  std::string name;
  bool is_training;
  TowerOptions options;
  std::unique_ptr<GraphTransaction> attempt{};  // outlives the scopes below
  int exceptions = std::uncaught_exceptions();
  bool own_variables = true;
  std::string name_scope{};
  Collections before{};
  std::size_t variables_before = 0;
  std::vector<Variable> used{};
  std::set<const Node*> known{};  // those of them
  // Ended in the reverse order, as blocks are.
  std::unique_ptr<VariableScope> variables{};
  std::unique_ptr<NameScope> names{};
  std::unique_ptr<ReplicaScope> replica{};
};

namespace {

// A tower that makes another tower's variable again was not declared to be a further one.
void check_is_new(const TowerContext::Impl& tower, const std::string& name) {
  if (get_variable_scope().reuse() != Reuse::no) return;
  const std::vector<Variable>& all = tower.graph.variables();
  const std::size_t before = std::min(tower.variables_before, all.size());
  const Variable found = tower.graph.find_variable(name);
  if (!found || before == 0 || found.node()->id > all[before - 1].node()->id) return;
  const char* kind = tower.is_training ? "Train" : "Predict";
  fail(
      "[get_variable '{}'] expected a new variable in tower '{}', got one that existed before the tower {}. A tower "
      "shares variables if it is not the first (TrainTowerContext tower(\"tower1\", {{.index = 1, .total = 2}})) or "
      "asks for it ({}TowerContext tower(\"{}\", {{.reuse = Reuse::yes}})) (variable scope '{}', at {}).",
      name, tower.name, made_at(*found.node()), kind, tower.name, get_variable_scope().name(),
      to_string(current_location({})));
}

}  // namespace

TowerContext::TowerContext(std::string_view name, bool is_training, TowerOptions options, const Location& where) {
  Graph& graph = current_graph();
  check_options(name, is_training, options, where);
  impl_ = std::make_unique<Impl>(Impl{graph, std::string(name), is_training, std::move(options)});
  Impl& tower = *impl_;
  const Reuse reuse = choose_reuse(is_training, tower.options);
  tower.own_variables = reuse != Reuse::yes;
  tower.attempt = std::make_unique<GraphTransaction>(graph);
  tower.before = graph.collections();
  tower.variables_before = graph.variables().size();
  VariableScopeOptions scope{.reuse = reuse};
  scope.custom_getter = [&tower](const VariableGetter& next, const std::string& full_name,
                                 const VariableOptions& variable_options) {
    check_is_new(tower, full_name);
    const Variable variable = next(full_name, variable_options);
    if (tower.known.insert(variable.node()).second) tower.used.push_back(variable);
    return variable;
  };
  tower.variables = tower.options.variable_scope.empty()
                        ? VariableScope::reopen(std::move(scope))
                        : std::make_unique<VariableScope>(tower.options.variable_scope, std::move(scope));
  if (!tower.name.empty()) tower.names = NameScope::at(tower.name);
  tower.name_scope = current_name_scope();
  tower.replica = std::make_unique<ReplicaScope>(tower.options.index, tower.options.variable_scope);
  current = this;
}

TowerContext::~TowerContext() {
  current = nullptr;
  if (std::uncaught_exceptions() == impl_->exceptions) impl_->attempt->keep();
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
bool TowerContext::has_own_runs() const { return impl_->options.own_runs; }
bool TowerContext::has_own_variables() const { return impl_->own_variables; }
const std::string& TowerContext::variable_scope() const { return impl_->options.variable_scope; }
const std::string& TowerContext::name_scope() const { return impl_->name_scope; }

// Without those of layers that failed, which the graph has taken back.
std::vector<Variable> TowerContext::used_variables() const {
  std::vector<Variable> all = impl_->used;
  std::erase_if(all, [this](const Variable& v) { return v.node()->graph != &impl_->graph; });
  return all;
}

std::vector<Variable> TowerContext::variables() const {
  std::vector<Variable> all = used_variables();
  for (const Variable& made : beyond(impl_->graph.variables(), impl_->variables_before))
    if (!impl_->known.contains(made.node())) all.push_back(made);
  return all;
}

std::vector<Variable> TowerContext::trainable_variables() const {
  std::vector<Variable> all = used_variables();
  std::erase_if(all, [](const Variable& v) { return !v.trainable(); });
  return all;
}

std::vector<Tensor> TowerContext::collected_tensors(std::string_view collection) const {
  return beyond(impl_->graph.collections().tensors(collection), impl_->before.tensors(collection).size());
}

std::vector<Operation> TowerContext::collected_operations(std::string_view collection) const {
  return beyond(impl_->graph.collections().operations(collection), impl_->before.operations(collection).size());
}

TowerPause::TowerPause() : open_(std::exchange(current, nullptr)) {}
TowerPause::~TowerPause() { current = open_; }

TowerContext* current_tower_context_or_null() { return current; }

TowerContext& get_current_tower_context() {
  BELFRY_CHECK(
      current != nullptr,
      "[get_current_tower_context] expected to be called while a tower is built, got no open tower on this thread. "
      "Enter one first: TrainTowerContext tower(\"\");");
  return *current;
}

}  // namespace belfry
