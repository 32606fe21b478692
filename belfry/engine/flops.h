// Floating-point operations of a node: multiply-adds counted as two, for convolutions, matrix products, recurrent
// products and attention; one an element for the rest.
#pragma once

#include "belfry/engine/ir.h"

namespace belfry {

// What the count depends on; shapes are concrete.
struct Work {
  OpKind op;
  const Attributes& attributes;
  std::vector<Shape> inputs, outputs;
};
double flops_of(const Work& work);

double flops_of(const Ir& ir, const IrNode& node);

}  // namespace belfry
