// An update with a gradient times a scalar (clipped by its norm, averaged over towers) does the multiplication itself:
// the product need not be written to memory. Other readers of the product (a hook that fetches it) make no difference,
// so that the update's bits stay the same.
#include "belfry/engine/cpu/fuse/fusion.h"

namespace belfry {
bool fuse_gradient_scale(Ir& ir, NodeId id) {
  const IrNode& update = ir.node(id);
  const KernelDef* kernel = kernel_of(update);
  if (kernel == nullptr || !kernel->takes_scale || update.attributes.flag(kScaled)) return false;
  const ValueId gradient = update.inputs.back();
  if (!ir.is_op(gradient, kMul) || ir.info(gradient).dtype != DType::f32) return false;
  const NodeId product = ir.producer(gradient);
  if (!fusable(ir, id, product)) return false;
  const IdList factors = ir.node(product).inputs;
  for (std::size_t side : {0u, 1u}) {
    const ValueId scale = factors[side], rest = factors[1 - side];
    if (ir.info(scale).shape.rank() != 0 || !(ir.info(rest).shape == ir.info(gradient).shape)) continue;
    ir.change(id, [&](IrNode& node) {
      node.inputs.back() = rest;
      node.inputs.push_back(scale);
      node.attributes.set(kScaled, true);
    });
    if (readers_of(ir, gradient).empty()) absorb(ir, id, product);
    return true;
  }
  return false;
}

}  // namespace belfry
