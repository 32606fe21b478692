#include "belfry/graph/scope.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/internal/foreign_handle.h"
#include "belfry/graph/internal/name_check.h"
#include "belfry/graph/internal/scope_state.h"

namespace belfry {
namespace {

thread_local ScopeState current;
thread_local std::vector<Graph*> default_graphs;  // those of living DefaultGraphs, the latest last

ScopeState fresh(Graph* graph) {
  ScopeState out;
  out.graph = graph;
  out.variable_scope = root_variable_scope();
  return out;
}

// Where no GraphScope is open, the latest default counts, whatever was current before.
void follow_default() {
  if (current.graph != nullptr && !current.by_default) return;
  Graph* latest = default_graphs.empty() ? nullptr : default_graphs.back();
  if (current.graph == latest) return;
  current = latest == nullptr ? ScopeState{} : fresh(latest);
  current.by_default = latest != nullptr;
}

}  // namespace

ScopeState& scope_state() { return current; }

std::string join_scope(const std::string& scope, std::string_view name) {
  return scope.empty() ? std::string(name) : scope + "/" + std::string(name);
}

ScopeGuard::ScopeGuard() : before_(std::make_unique<ScopeState>(current)) {}
ScopeGuard::~ScopeGuard() {
  current = std::move(*before_);
  follow_default();
}
ScopeState& ScopeGuard::state() { return current; }

GraphScope::GraphScope(Graph& graph) { state() = fresh(&graph); }

DefaultGraph::DefaultGraph(Graph& graph) : graph_(graph) {
  default_graphs.push_back(&graph);
  follow_default();
}

DefaultGraph::~DefaultGraph() {
  std::erase(default_graphs, &graph_);
  follow_default();
}

OutermostGraphScope::OutermostGraphScope() {
  if (state().graph == nullptr || state().graph->around() == nullptr) return;
  state().graph = &state().graph->outermost();
  state().control.clear();
}

NameScope::NameScope(std::string_view name, const Location& where) {
  check_name(name, fmt::format("[NameScope '{}']", name), current_location(where));
  state().name_scope = name_ = current_graph().open_scope(join_scope(state().name_scope, name));
}

NameScope::NameScope(Exact, std::string_view full_name) : name_(full_name) { state().name_scope = name_; }

std::unique_ptr<NameScope> NameScope::at(std::string_view full_name, const Location& where) {
  if (!full_name.empty()) check_name(full_name, fmt::format("[NameScope '{}']", full_name), current_location(where));
  return std::unique_ptr<NameScope>(new NameScope(Exact{}, full_name));
}

DeviceScope::DeviceScope(const Device& device) { state().device = device; }

DeviceScope DeviceScope::beside(const Tensor& tensor) {
  return DeviceScope(current.device.empty() ? tensor.node()->device : current.device);
}

ControlDependencies::ControlDependencies(const std::vector<Operation>& before, const Location& where) {
  for (const Operation& operation : before) {
    BELFRY_CHECK(static_cast<bool>(operation),
                 "[ControlDependencies] expected operations, got an empty handle (at {}). An unconnected gradient is "
                 "empty: test it first.",
                 to_string(current_location(where)));
    BELFRY_CHECK(belongs_to(operation, current_graph()),
                 "[ControlDependencies] expected operations of the current graph, got {}",
                 foreign(operation, fmt::format("(at {})", to_string(current_location(where))),
                         "Enter the GraphScope that it was made in."));
    if (std::ranges::find(state().control, operation.node()) == state().control.end())
      state().control.push_back(operation.node());
  }
}

ClearControlDependencies::ClearControlDependencies() { state().control.clear(); }

ReplicaScope::ReplicaScope(int index) { state().replica = index; }
ReplicaScope::ReplicaScope(int index, std::string_view variable_prefix) : ReplicaScope(index) {
  state().tower_prefix = variable_prefix;
}

std::string current_name_scope() { return current.name_scope; }

Graph* current_graph_or_null() { return current.graph; }
Graph* chosen_graph_or_null() { return current.by_default ? nullptr : current.graph; }

Graph& current_graph() {
  BELFRY_CHECK(current.graph != nullptr,
               "[graph] expected a current graph, got none on this thread. Enter one first: GraphScope scope(graph);");
  return *current.graph;
}

}  // namespace belfry
