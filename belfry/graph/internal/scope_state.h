// What the scope guards save and restore. Internal to belfry/graph.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "belfry/graph/node.h"
#include "belfry/graph/variable_scope.h"

namespace belfry {

// Updates made under it happen only while the flag, which `set` writes in each run, is true.
struct UpdateConditionFlag {
  Node* variable = nullptr;
  Node* set = nullptr;
};

struct ScopeState {
  Graph* graph = nullptr;
  bool by_default = false;  // current because of a DefaultGraph, not a GraphScope
  std::string name_scope;   // "" or "a/b"
  std::shared_ptr<OpenedVariableScope> variable_scope;
  Device device;
  std::vector<Node*> control;
  std::vector<UpdateConditionFlag> update_conditions;
  int replica = 0;
  std::string tower_prefix;  // of the replica's own variables
  RecomputeMark mark;
};

ScopeState& scope_state();
std::shared_ptr<OpenedVariableScope> root_variable_scope();
std::string join_scope(const std::string& scope, std::string_view name);

}  // namespace belfry
