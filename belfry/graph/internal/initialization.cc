#include "belfry/graph/internal/initialization.h"

#include <algorithm>
#include <map>

#include "belfry/graph/graph.h"
#include "belfry/graph/internal/ancestors.h"

namespace belfry {

std::vector<std::vector<Variable>> initialization_order(const Graph& graph) {
  std::vector<std::vector<Variable>> groups;
  std::map<const Node*, std::size_t> group_of;
  // In the order of creation, so that what an initial value reads has its group already.
  for (const Variable& v : graph.variables()) {
    std::size_t group = 0;
    Node* const value = v.initial_value().node();
    for (const Node* node : with_ancestors({&value, 1}))
      if (const auto read = group_of.find(node); read != group_of.end()) group = std::max(group, read->second + 1);
    group_of[v.node()] = group;
    if (group == groups.size()) groups.emplace_back();
    groups[group].push_back(v);
  }
  return groups;
}

}  // namespace belfry
