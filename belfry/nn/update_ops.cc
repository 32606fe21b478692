#include "belfry/nn/update_ops.h"

#include <algorithm>

#include "belfry/graph/graph.h"
#include "belfry/graph/internal/ancestors.h"
#include "belfry/graph/internal/state_ops.h"

namespace belfry {
namespace {

// Whether the node brings in new data with every run: a placeholder, a queue, random numbers.
bool is_source(const Node& node) {
  for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i)
    if (!node.def->uses_only_shape(i)) return false;
  return node.def->stateful && node.def != variable_op();
}
bool is_input(const Node& node) { return is_source(node) && !node.def->random; }
bool is_trainable(const Node& node) { return node.def == variable_op() && node.graph->record(&node).trainable; }

// `nodes` are sorted by number.
bool has(const std::vector<const Node*>& nodes, const Node* node) {
  return std::ranges::binary_search(nodes, node->id, {}, &Node::id);
}

// What a node and everything that it depends on contains.
struct Needs {
  bool computed = false;     // something that the gradients are computed from too, not as a mere source
  bool other_input = false;  // an input that the gradients do not need
  bool data = false;
  bool trained = false, trainable = false;  // a variable that is trained, or could be

  void add(const Needs& other) {
    computed |= other.computed;
    other_input |= other.other_input;
    data |= other.data;
    trained |= other.trained;
    trainable |= other.trainable;
  }
};

// For the updates and what they depend on, by number of the node.
std::vector<Needs> needs_of(const std::vector<Operation>& updates, const std::vector<const Node*>& computed,
                            const std::vector<const Node*>& trained) {
  std::vector<Node*> ends;
  for (const Operation& update : updates) ends.push_back(update.node());
  const std::vector<const Node*> all = with_ancestors(ends);
  std::vector<Needs> out(all.empty() ? 0 : static_cast<std::size_t>(all.back()->id) + 1);
  for (const Node* node : all) {  // what a node depends on was made before it
    const bool here = has(computed, node);
    Needs& needs = out[static_cast<std::size_t>(node->id)];
    needs = {.computed = here && !node->inputs.empty(),
             .other_input = !here && is_input(*node),
             .data = is_source(*node),
             .trained = has(trained, node),
             .trainable = is_trainable(*node)};
    for (const Tensor& t : node->inputs) needs.add(out[static_cast<std::size_t>(t.node()->id)]);
    for (const Node* before : node->control_inputs) needs.add(out[static_cast<std::size_t>(before->id)]);
  }
  return out;
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
  const std::vector<Operation> updates = update_ops(*ends.front()->graph);
  const std::vector<Needs> needs = needs_of(updates, computed, trained);
  for (const Operation& update : updates) {
    const Needs& n = needs[static_cast<std::size_t>(update.node()->id)];
    if (n.other_input) continue;
    if ((n.computed || !n.data) && (n.trained || !n.trainable)) out.push_back(update);
  }
  return out;
}

}  // namespace belfry
