// How the CPU computes a node of a plan.
#pragma once

#include "belfry/engine/cpu/kernel/kernel.h"
#include "belfry/engine/ir.h"

namespace belfry {

// nullptr if it has no kernel of its own (feeds, users' ops).
inline const KernelDef* kernel_of(const IrNode& node) { return find_kernel(node.op); }

}  // namespace belfry
