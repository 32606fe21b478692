#include <algorithm>
#include <optional>

#include "belfry/engine/cpu/compile/passes.h"
#include "belfry/engine/cpu/fuse/fusion.h"

namespace belfry {
namespace {

bool may_start(const FusionPattern& pattern, OpKind op) {
  return pattern.starts.empty() || std::ranges::find(pattern.starts, op) != pattern.starts.end();
}

}  // namespace

void fuse(Ir& ir) {
  std::vector<NodeId> order;
  std::vector<OpKind> ops;              // of the order's nodes: most patterns look at few of them
  std::optional<std::size_t> settled;   // the last change that the two include
  for (const FusionPattern& pattern : fusion_patterns()) {
    if (ir.changes() != settled) {  // most patterns do not occur in a model
      if (settled) remove_unneeded(ir);
      order = topological(ir);
      ops.clear();
      for (NodeId id : order) ops.push_back(ir.node(id).op);
      settled = ir.changes();
    }
    for (std::size_t i = 0; i < order.size(); ++i)
      if (may_start(pattern, ops[i]) && !ir.node(order[i]).dead) pattern.apply(ir, order[i]);
  }
  remove_unneeded(ir);
}

}  // namespace belfry
