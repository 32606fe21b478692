#include "belfry/nn/update_ops.h"

#include <algorithm>

#include "belfry/graph/ancestors.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/state_ops.h"

namespace belfry {
namespace {

// Takes data from outside: a placeholder, a queue.
bool is_input(const Node& node) {
  return node.inputs.empty() && node.def->stateful && !node.def->random && node.def != variable_op();
}

std::vector<Operation> all_update_ops(const Collections& collections) {
  std::vector<Operation> out = collections.operations(collection::kUpdateOps);
  for (const Tensor& t : collections.tensors(collection::kUpdateOps)) out.emplace_back(t);
  return out;
}

}  // namespace

std::vector<Operation> update_ops_for(const std::vector<Tensor>& gradients) {
  std::vector<Node*> ends;
  for (const Tensor& t : gradients)
    if (t) ends.push_back(t.node());
  std::vector<Operation> out;
  if (ends.empty()) return out;
  const std::vector<const Node*> computed = with_ancestors(ends);  // sorted by id
  const auto in_step = [&](const Node* node) {
    return std::ranges::binary_search(computed, node->id, {}, [](const Node* n) { return n->id; });
  };
  for (const Operation& update : all_update_ops(ends.front()->graph->collections())) {
    if (update.node()->tower != 0) continue;
    Node* const end = update.node();
    const std::vector<const Node*> needs = with_ancestors({&end, 1});
    const bool connected = std::ranges::any_of(needs, [&](const Node* n) { return !n->inputs.empty() && in_step(n); });
    const bool own_input = std::ranges::any_of(needs, [&](const Node* n) { return is_input(*n) && !in_step(n); });
    if (connected && !own_input) out.push_back(update);
  }
  return out;
}

}  // namespace belfry
