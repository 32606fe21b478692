#include "belfry/engine/cpu/compile/passes.h"

namespace belfry {

ValueId viewed_value(const Ir& ir, ValueId value) {
  while (ir.producer(value) != kNone) {
    const IrNode& node = ir.node(ir.producer(value));
    const KernelDef* kernel = kernel_of(node);
    if (kernel == nullptr || !kernel->view) break;
    value = node.inputs[0];
  }
  return value;
}

}  // namespace belfry
