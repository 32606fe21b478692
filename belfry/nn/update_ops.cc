#include "belfry/nn/update_ops.h"

#include <algorithm>

#include "belfry/graph/ancestors.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/state_ops.h"

namespace belfry {
namespace {

// Brings in something new with every run: a placeholder, a queue, random numbers.
bool is_source(const Node& node) {
  for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i)
    if (!node.def->uses_only_shape(i)) return false;
  return node.def->stateful && node.def != variable_op();
}
bool is_input(const Node& node) { return is_source(node) && !node.def->random; }
bool is_trainable(const Node& node) { return node.def == variable_op() && node.graph->record(&node).trainable; }

// Nodes sorted by number.
bool has(const std::vector<const Node*>& nodes, const Node* node) {
  return std::ranges::binary_search(nodes, node->id, {}, &Node::id);
}

}  // namespace

std::vector<Operation> update_ops(const Graph& graph, std::string_view collection) {
  const Collections& collections = graph.collections();
  std::vector<Operation> out = collections.operations(collection);
  for (const Tensor& t : collections.tensors(collection)) out.emplace_back(t);
  return out;
}

std::vector<Operation> update_ops_for(const GradientsAndVariables& gradients) {
  std::vector<Node*> ends;
  std::vector<const Node*> trained;
  for (const GradientAndVariable& item : gradients) {
    if (!item.gradient) continue;
    ends.push_back(item.gradient.node());
    trained.push_back(item.variable.node());
  }
  std::vector<Operation> out;
  if (ends.empty()) return out;
  const std::vector<const Node*> computed = with_ancestors(ends);
  std::ranges::sort(trained, {}, &Node::id);
  for (const Operation& update : update_ops(*ends.front()->graph)) {
    Node* const end = update.node();
    const std::vector<const Node*> needs = with_ancestors({&end, 1});
    const auto any = [&](auto&& holds) { return std::ranges::any_of(needs, holds); };
    if (any([&](const Node* n) { return is_input(*n) && !has(computed, n); })) continue;
    const bool connected = any([&](const Node* n) { return !n->inputs.empty() && has(computed, n); });
    const bool without_data = !any([](const Node* n) { return is_source(*n); });
    const bool of_trained =
        any([&](const Node* n) { return has(trained, n); }) || !any([](const Node* n) { return is_trainable(*n); });
    if ((connected || without_data) && of_trained) out.push_back(update);
  }
  return out;
}

}  // namespace belfry
