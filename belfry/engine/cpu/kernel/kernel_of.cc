#include "belfry/engine/cpu/kernel/kernel_of.h"

namespace belfry {

double flops_of(const Ir& ir, const IrNode& node) {
  if (node.op.definition().source) return 0;
  Work work{.attributes = node.attributes, .inputs = {}, .outputs = {}};
  for (ValueId v : node.inputs) work.inputs.push_back(ir.info(v).shape);
  for (ValueId v : node.outputs) work.outputs.push_back(ir.info(v).shape);
  return flops_of(kernel_of(node), work);
}

}  // namespace belfry
