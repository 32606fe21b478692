#include "belfry/engine/cpu/compile/passes.h"

namespace belfry {

ValueId behind_views(const Ir& ir, ValueId value) {
  while (ir.value(value).producer != kNone) {
    const IrNode& node = ir.node(ir.value(value).producer);
    const KernelDef* kernel = kernel_of(node);
    if (kernel == nullptr || !kernel->view) break;
    value = node.inputs[0];
  }
  return value;
}

}  // namespace belfry
