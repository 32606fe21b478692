#include "belfry/engine/needed.h"

#include <algorithm>
#include <set>
#include <utility>

#include "belfry/engine/cross_tower.h"
#include "belfry/engine/node_table.h"

namespace belfry {
namespace {

class Needed {
 public:
  explicit Needed(const Signature& signature) {
    for (const Tensor& t : signature.feeds) fed_.insert({t.node(), t.output()});
    for (const Tensor& t : signature.fetches) need(t);
    for (const Operation& op : signature.targets)
      if (!is_fed(op.node(), fed_)) visit(op.node());
  }
  std::vector<const Node*> nodes() && {
    std::ranges::sort(nodes_, {}, &Node::id);
    return std::move(nodes_);
  }

 private:
  void need(const Tensor& t) {
    if (!fed_.contains({t.node(), t.output()})) visit(t.node());
  }

  void visit(const Node* first) {
    std::vector<const Node*> open{first};
    while (!open.empty()) {
      const Node* node = open.back();
      open.pop_back();
      if (std::exchange(seen_[node], 1)) continue;
      nodes_.push_back(node);
      if (is_cross_tower_sum(*node)) {
        for (const Node* member : towers_.members(*node)) open_inputs(*member, open);
      } else {
        open_inputs(*node, open);
      }
      for (const Node* before : node->control_inputs)
        if (!is_fed(before, fed_)) open.push_back(before);
    }
  }

  void open_inputs(const Node& node, std::vector<const Node*>& open) const {
    for (const Tensor& t : node.inputs)
      if (!fed_.contains({t.node(), t.output()})) open.push_back(t.node());
  }

  std::set<std::pair<const Node*, int>> fed_;
  std::vector<const Node*> nodes_;
  NodeTable<char> seen_;
  CrossTowerGroups towers_;
};

}  // namespace

std::vector<const Node*> needed_nodes(const Signature& signature) { return Needed(signature).nodes(); }

std::vector<const Node*> needed_takes(const Signature& signature) {
  std::vector<const Node*> out;
  for (const Node* node : needed_nodes(signature))
    if (node->def->taken) out.push_back(node);
  return out;
}

}  // namespace belfry
