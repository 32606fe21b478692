#include "belfry/graph/internal/initialization.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"

namespace belfry {

std::vector<std::vector<Variable>> initialization_order(const Graph& graph) {
  std::vector<std::vector<Variable>> groups;
  std::vector<std::size_t> earliest(graph.nodes().size(), 0);  // by node: the first group that may read it
  const auto of = [&](const Node* node) -> std::size_t& { return earliest[static_cast<std::size_t>(node->id)]; };
  auto next = graph.variables().begin();
  // In the order of creation: what a node needs, and an initial value before its variable, is there already.
  for (const std::unique_ptr<Node>& node : graph.nodes()) {
    std::size_t& own = of(node.get());
    for (const Tensor& input : node->inputs) own = std::max(own, of(input.node()));
    for (const Node* before : node->control_inputs) own = std::max(own, of(before));
    if (next == graph.variables().end() || next->node() != node.get()) continue;
    const std::size_t group = of(next->initial_value().node());
    if (group == groups.size()) groups.emplace_back();
    groups[group].push_back(*next++);
    own = group + 1;
  }
  BELFRY_BUG_IF(next != graph.variables().end(), "variable '{}' is not in the order of creation", next->name());
  return groups;
}

}  // namespace belfry
