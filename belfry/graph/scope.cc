#include "belfry/graph/scope.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope_state.h"

namespace belfry {
namespace {

thread_local ScopeState current;

void check_scope_name(std::string_view name, const char* what) {
  const bool good = !name.empty() && name.front() != '/' && name.back() != '/' && std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || std::string_view("_-./").find(c) != std::string_view::npos;
  });
  BELFRY_CHECK(good, "[{} '{}'] expected letters, digits, '_', '-', '.' and inner '/', got '{}'. Choose another name.",
               what, name, name);
}

}  // namespace

ScopeState& scope_state() { return current; }

std::string join_scope(const std::string& scope, std::string_view name) {
  return scope.empty() ? std::string(name) : scope + "/" + std::string(name);
}

ScopeGuard::ScopeGuard() : before_(std::make_unique<ScopeState>(current)) {}
ScopeGuard::~ScopeGuard() { current = std::move(*before_); }
ScopeState& ScopeGuard::state() { return current; }

GraphScope::GraphScope(Graph& graph) {
  state() = ScopeState{};
  state().graph = &graph;
  state().variable_scope = root_variable_scope();
}

NameScope::NameScope(std::string_view name) {
  check_scope_name(name, "NameScope");
  state().name_scope = name_ = current_graph().open_scope(join_scope(state().name_scope, name));
}

NameScope::NameScope(Exact, std::string_view full_name) : name_(full_name) { state().name_scope = name_; }

std::unique_ptr<NameScope> NameScope::at(std::string_view full_name) {
  return std::unique_ptr<NameScope>(new NameScope(Exact{}, full_name));
}

DeviceScope::DeviceScope(std::string_view device) {
  BELFRY_CHECK(device.empty() || (device.starts_with("cpu:") && device.size() > 4 && device.size() <= 8 &&
                                  std::ranges::all_of(device.substr(4), [](char c) { return c >= '0' && c <= '9'; })),
               "[DeviceScope] expected \"cpu:N\", got \"{}\". Only CPU devices exist today.", device);
  state().device = device;
}

ControlDependencies::ControlDependencies(const std::vector<Operation>& before) {
  for (const Operation& operation : before) {
    BELFRY_CHECK(static_cast<bool>(operation), "[ControlDependencies] expected operations, got an empty handle");
    if (std::ranges::find(state().control, operation.node()) == state().control.end())
      state().control.push_back(operation.node());
  }
}

ClearControlDependencies::ClearControlDependencies() { state().control.clear(); }

ReplicaScope::ReplicaScope(int index) { state().replica = index; }

std::string current_name_scope() { return current.name_scope; }

Graph* current_graph_or_null() { return current.graph; }

Graph& current_graph() {
  BELFRY_CHECK(current.graph != nullptr,
               "[graph] expected a current graph, got none on this thread. Enter one first: GraphScope scope(graph);");
  return *current.graph;
}

}  // namespace belfry
