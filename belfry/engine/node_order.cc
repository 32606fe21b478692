#include "belfry/engine/node_order.h"

#include <algorithm>

#include "belfry/base/check.h"

namespace belfry {
namespace {

std::size_t at(NodeId id) { return static_cast<std::size_t>(id); }

}  // namespace

NodeOrder::NodeOrder(const Ir& ir, FunctionRef<bool(NodeId)> late)
    : next_(ir.nodes().size()),
      before_(ir.nodes().size()),
      places_(ir.nodes().size(), kNone),
      order_(topological(ir, [&](NodeId id) { return Rank{late(id) ? 1 : 0, id, id}; })),
      found_(ir.nodes().size(), 0) {
  for (std::size_t i = 0; i < order_.size(); ++i) places_[at(order_[i])] = static_cast<int>(i);
  for (NodeId id : order_) {
    const auto edge = [&](NodeId from) {
      if (from == kNone || ir.node(from).dead) return;
      next_[at(from)].push_back(id);
      before_[at(id)].push_back(from);
    };
    for (ValueId v : ir.node(id).inputs) edge(ir.value(v).producer);
    for (NodeId before : ir.node(id).after) edge(before);
  }
}

std::vector<NodeId> NodeOrder::found_from(NodeId start, const Lists& edges, int first, int last) const {
  std::vector<NodeId> out{start};
  found_[at(start)] = 1;
  for (std::size_t i = 0; i < out.size(); ++i)
    for (NodeId other : edges[at(out[i])])
      if (!found_[at(other)] && place(other) >= first && place(other) <= last) {
        found_[at(other)] = 1;
        out.push_back(other);
      }
  for (NodeId id : out) found_[at(id)] = 0;
  return out;
}

bool NodeOrder::reaches(NodeId from, NodeId to) const {
  if (from == to || place(from) > place(to)) return false;
  const std::vector<NodeId> found = found_from(from, next_, place(from), place(to));
  return std::ranges::find(found, to) != found.end();
}

void NodeOrder::add_node(NodeId id) {
  BELFRY_BUG_IF(at(id) != places_.size(), "node {} added to an order of {}", id, places_.size());
  next_.emplace_back();
  before_.emplace_back();
  found_.push_back(0);
  places_.push_back(static_cast<int>(order_.size()));
  order_.push_back(id);
}

// What comes after `to` and what comes before `from` change places, as far as they stand between the two: first the
// latter, then the former, each in the order they have.
void NodeOrder::add_edge(NodeId from, NodeId to) {
  const int first = place(to), last = place(from);
  if (first < last) {
    std::vector<NodeId> later = found_from(to, next_, first, last), moved = found_from(from, before_, first, last);
    BELFRY_BUG_IF(std::ranges::find(later, from) != later.end(), "an edge from {} to {} closes a circle", from, to);
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
  next_[at(from)].push_back(to);
  before_[at(to)].push_back(from);
}

}  // namespace belfry
