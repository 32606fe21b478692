// A topological order of a plan's nodes, maintained while edges are added. It makes it cheap to ask whether one node
// comes after another on some path: the search stays between the two.
#pragma once

#include <vector>

#include "belfry/base/function_ref.h"
#include "belfry/engine/ir.h"

namespace belfry {

class NodeOrder {
 public:
  // By data and ordering edges; among nodes that may come next, `late` ones come last. Dead nodes have no place. The Ir
  // must outlive it, and every node or edge added there must be reported here, one by one.
  NodeOrder(const Ir& ir, FunctionRef<bool(NodeId)> late);

  const std::vector<NodeId>& nodes() const { return order_; }
  int place(NodeId id) const { return places_[static_cast<std::size_t>(id)]; }  // in nodes()
  bool reaches(NodeId from, NodeId to) const;                                   // over one edge or more
  void added_node(NodeId id);               // with the next number, which nothing reads or waits for yet
  void added_edge(NodeId from, NodeId to);  // must not close a cycle

 private:
  using Visit = FunctionRef<void(NodeId)>;
  void visit_next(NodeId id, Visit visit) const;
  void visit_before(NodeId id, Visit visit) const;
  // The nodes reached forwards, or backwards, with places from `first` to `last`, the node itself included.
  enum class Way { forwards, back };
  std::vector<NodeId> found_from(NodeId start, Way way, int first, int last) const;

  const Ir& ir_;
  std::vector<int> places_;          // by node
  std::vector<NodeId> order_;        // by place
  mutable std::vector<char> found_;  // by node: what a search has met; all 0 between searches
};

}  // namespace belfry
