// Floating-point operations of a node: multiply-adds counted as two, for convolutions and matrix products; one an
// element for the rest.
#pragma once

#include "belfry/engine/ir.h"

namespace belfry {

double flops_of(const Ir& ir, const IrNode& node);

}  // namespace belfry
