#include "belfry/engine/cpu/compile/passes.h"
#include "belfry/engine/cpu/fuse/fusion.h"

namespace belfry {

void fuse(Ir& ir) {
  for (const FusionPattern& pattern : fusion_patterns()) {
    for (NodeId id : topological(ir)) {
      if (ir.node(id).dead) continue;
      pattern.apply(ir, id);
    }
    remove_unneeded(ir);
  }
}

}  // namespace belfry
