#include "belfry/graph/internal/ancestors.h"

#include <algorithm>

namespace belfry {

std::vector<const Node*> with_ancestors(std::span<Node* const> nodes) {
  std::vector<const Node*> seen;  // by number, which is the order of creation
  std::vector<const Node*> open;
  const auto visit = [&](const Node* node) {
    const auto at = static_cast<std::size_t>(node->id);
    if (at >= seen.size()) seen.resize(at + 1, nullptr);
    if (seen[at] == nullptr) open.push_back(seen[at] = node);
  };
  for (const Node* node : nodes) visit(node);
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    for (const Tensor& t : node->inputs) visit(t.node());
    for (const Node* before : node->control_inputs) visit(before);
  }
  std::erase(seen, nullptr);
  return seen;
}

bool assigns(const Node& node, const Node* variable) {
  return std::ranges::any_of(
      node.def->updates, [&](int input) { return node.inputs[static_cast<std::size_t>(input)].node() == variable; });
}

}  // namespace belfry
