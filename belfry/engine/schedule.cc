#include <algorithm>
#include <set>
#include <tuple>

#include "belfry/base/check.h"
#include "belfry/engine/passes.h"

namespace belfry {

namespace {

// Takes no time and no memory worth mentioning: variables, constants, arithmetic on single numbers.
bool tiny(const Ir& ir, const IrNode& node) {
  const auto single = [&](ValueId v) { return ir.info(v).elements() <= 1; };
  return node.op == "Variable" || node.op == "Constant" ||
         (!node.outputs.empty() && std::ranges::all_of(node.inputs, single) &&
          std::ranges::all_of(node.outputs, single));
}

}  // namespace

// In the order the graph was built, except that an update runs as soon as its gradient is there: the gradient's memory
// is free again at once instead of at the end of the step. What an update needs besides (a learning rate made from
// single numbers, built after the gradients) must not hold it up.
std::vector<NodeId> schedule(const Ir& ir) {
  const auto place = [&](NodeId id) { return ir.node(id).rank == kNone ? id : ir.node(id).rank; };
  const auto early = [&](NodeId id) {
    return !updated_inputs(ir.node(id)).empty() || ir.node(id).op == "Fetch" || tiny(ir, ir.node(id));
  };
  std::vector<int> missing(ir.nodes.size(), 0);
  std::vector<std::vector<NodeId>> next(ir.nodes.size());
  std::set<std::tuple<bool, NodeId, NodeId>> ready;  // (not early, place, number)
  std::size_t alive = 0;
  for (NodeId id = 0; id < static_cast<NodeId>(ir.nodes.size()); ++id) {
    if (ir.node(id).dead) continue;
    ++alive;
    const auto edge = [&](NodeId from) {
      if (from == kNone || ir.node(from).dead) return;
      next[static_cast<std::size_t>(from)].push_back(id);
      ++missing[static_cast<std::size_t>(id)];
    };
    for (ValueId v : ir.node(id).inputs) edge(ir.value(v).producer);
    for (NodeId before : ir.node(id).after) edge(before);
    if (missing[static_cast<std::size_t>(id)] == 0) ready.emplace(!early(id), place(id), id);
  }
  std::vector<NodeId> order;
  while (!ready.empty()) {
    const NodeId id = std::get<2>(*ready.begin());
    ready.erase(ready.begin());
    order.push_back(id);
    for (NodeId n : next[static_cast<std::size_t>(id)])
      if (--missing[static_cast<std::size_t>(n)] == 0) ready.emplace(!early(n), place(n), n);
  }
  BELFRY_BUG_IF(order.size() != alive, "a cycle of {} operations in a plan", alive - order.size());
  return order;
}

}  // namespace belfry
