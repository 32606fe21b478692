#include "belfry/engine/node_order.h"

#include <algorithm>

#include "belfry/base/check.h"

namespace belfry {
NodeOrder::NodeOrder(const Ir& ir, FunctionRef<bool(NodeId)> late)
    : ir_(ir),
      places_(ir.nodes().size(), kNone),
      order_(topological(ir, [&](NodeId id) { return Rank{late(id) ? 1 : 0, id, id}; })),
      found_(ir.nodes().size(), 0) {
  for (std::size_t i = 0; i < order_.size(); ++i) places_[at(order_[i])] = static_cast<int>(i);
}

void NodeOrder::visit_next(NodeId id, Visit visit) const {
  for (ValueId v : ir_.node(id).outputs)
    for (NodeId reader : ir_.readers(v)) visit(reader);
  for (NodeId follower : ir_.followers(id)) visit(follower);
}

void NodeOrder::visit_before(NodeId id, Visit visit) const {
  for (ValueId v : ir_.node(id).inputs)
    if (ir_.producer(v) != kNone) visit(ir_.producer(v));
  for (NodeId before : ir_.node(id).after) visit(before);
}

std::vector<NodeId> NodeOrder::found_from(NodeId start, Way way, int first, int last) const {
  std::vector<NodeId> out{start};
  found_[at(start)] = 1;
  const auto find = [&](NodeId id) {
    if (found_[at(id)] || place(id) < first || place(id) > last) return;
    found_[at(id)] = 1;
    out.push_back(id);
  };
  for (std::size_t i = 0; i < out.size(); ++i)
    if (way == Way::forwards)
      visit_next(out[i], find);
    else
      visit_before(out[i], find);
  for (NodeId id : out) found_[at(id)] = 0;
  return out;
}

bool NodeOrder::reaches(NodeId from, NodeId to) const {
  if (from == to || place(from) > place(to)) return false;
  const std::vector<NodeId> found = found_from(from, Way::forwards, place(from), place(to));
  return std::ranges::find(found, to) != found.end();
}

void NodeOrder::added_node(NodeId id) {
  BELFRY_BUG_IF(at(id) != places_.size(), "node {} added to an order of {}", id, places_.size());
  found_.push_back(0);
  places_.push_back(static_cast<int>(order_.size()));
  order_.push_back(id);
}

// Between the two, the nodes that come after `to` and those that come before `from` change places: first the latter,
// then the former, each in their present order.
void NodeOrder::added_edge(NodeId from, NodeId to) {
  const int first = place(to), last = place(from);
  if (first > last) return;
  std::vector<NodeId> later = found_from(to, Way::forwards, first, last),
                      moved = found_from(from, Way::back, first, last);
  BELFRY_BUG_IF(std::ranges::find(later, from) != later.end(), "an edge from {} to {} closes a cycle", from, to);
  const auto by_place = [&](NodeId id) { return place(id); };
  std::ranges::sort(later, {}, by_place);
  std::ranges::sort(moved, {}, by_place);
  moved.insert(moved.end(), later.begin(), later.end());
  std::vector<int> places;
  for (NodeId id : moved) places.push_back(place(id));
  std::ranges::sort(places);
  for (std::size_t i = 0; i < moved.size(); ++i) {
    places_[at(moved[i])] = places[i];
    order_[static_cast<std::size_t>(places[i])] = moved[i];
  }
}

}  // namespace belfry
