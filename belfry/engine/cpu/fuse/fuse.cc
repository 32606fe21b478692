#include <optional>

#include "belfry/engine/cpu/compile/passes.h"
#include "belfry/engine/cpu/fuse/fusion.h"

namespace belfry {

void fuse(Ir& ir) {
  std::vector<NodeId> order = topological(ir);
  std::optional<std::size_t> settled;  // the last change that the order includes
  for (const FusionPattern& pattern : fusion_patterns()) {
    for (NodeId id : order) {
      if (ir.node(id).dead) continue;
      pattern.apply(ir, id);
    }
    if (ir.changes() == settled) continue;  // most patterns do not occur in a model
    remove_unneeded(ir);
    order = topological(ir);
    settled = ir.changes();
  }
}

}  // namespace belfry
