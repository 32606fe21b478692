// How the CPU computes a node of a plan.
#pragma once

#include "belfry/engine/cpu/kernel/kernel.h"
#include "belfry/engine/flops.h"
#include "belfry/engine/ir.h"

namespace belfry {

// nullptr if it has no kernel of its own (feeds, users' ops).
inline const KernelDef* kernel_of(const IrNode& node) { return find_kernel(node.op); }

// Its floating-point operations; see engine/flops.h. Without its own kernel, one per element.
inline double flops_of(const KernelDef* kernel, const Work& work) {
  return kernel != nullptr && kernel->flops ? kernel->flops(work) : one_an_element(work);
}
double flops_of(const Ir& ir, const IrNode& node);

}  // namespace belfry
