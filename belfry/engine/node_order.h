// An order of a plan's nodes in which every edge goes forwards, kept while edges are added. Whether one node comes
// after another on some path is then cheap to ask: a search stays between the two.
#pragma once

#include <vector>

#include "belfry/base/function_ref.h"
#include "belfry/engine/ir.h"

namespace belfry {

class NodeOrder {
 public:
  // By data and ordering edges; among nodes that may come next those that are `late` come last. Dead ones have no
  // place.
  NodeOrder(const Ir& ir, FunctionRef<bool(NodeId)> late);

  bool reaches(NodeId from, NodeId to) const;  // over one edge or more
  void add_node(NodeId id);                    // with the next number, behind all others
  void add_edge(NodeId from, NodeId to);       // that closes no circle

 private:
  using Lists = std::vector<std::vector<NodeId>>;
  int place(NodeId id) const { return places_[static_cast<std::size_t>(id)]; }
  // Those on paths along `edges` that stand from `first` to `last`, the node itself included.
  std::vector<NodeId> found_from(NodeId start, const Lists& edges, int first, int last) const;

  Lists next_, before_;              // by node
  std::vector<int> places_;          // by node
  std::vector<NodeId> order_;        // by place
  mutable std::vector<char> found_;  // by node: what a search has met; all 0 between searches
};

}  // namespace belfry
