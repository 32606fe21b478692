// gelu in the product before it, and its gradient in the one that makes dy: for a transformer's two products with a
// gelu between them. Forward keeps gelu's slope instead of its input, so that the gradient is one multiplication. The
// rules depend only on shapes; other readers still get the inner values, so that fetching them changes no bits.
#include <algorithm>

#include "belfry/engine/cpu/fuse/fusion.h"

namespace belfry {
namespace {

const OpKind kGelu = op_kind("Gelu"), kGeluGrad = op_kind("GeluGrad"), kMatMulGelu = op_kind("MatMulGelu"),
             kMatMulScaled = op_kind("MatMulScaled");

// Our own product packs all of b for every thread: worthwhile for many rows, and while b fits the caches.
bool fits(const Ir& ir, const IrNode& product) {
  constexpr std::int64_t kFewestRows = 64, kMostWeights = 1 << 20;
  const TensorInfo &a = ir.info(product.inputs[0]), &b = ir.info(product.inputs[1]), &y = ir.info(product.outputs[0]);
  return y.dtype == DType::f32 && a.elements() > 0 && b.shape.rank() == 2 && b.elements() > 0 &&
         b.elements() <= kMostWeights && y.elements() / y.shape[-1] >= kFewestRows &&
         !product.attributes.flag("transpose_a");
}

// Whether the value is the slope that a MatMulGelu keeps.
bool is_slope(const Ir& ir, ValueId v) {
  return ir.is_op(v, kMatMulGelu) && ir.value(v).output == 1 && ir.node(ir.producer(v)).attributes.flag("slope");
}

// SumToLike(y -> bias) of a product becomes its second output.
void take_column_sums(Ir& ir, NodeId product) {
  const ValueId y = ir.node(product).outputs[0];
  for (NodeId reader : readers_of(ir, y)) {
    const IrNode& sum = ir.node(reader);
    if (sum.op != kSumToLike || !is_bias(ir, sum.outputs[0], y) || !fusable(ir, product, reader)) continue;
    ir.take_output(product, sum.outputs[0], 1);
    absorb(ir, product, reader);
    return;
  }
}

}  // namespace

// Gelu(FusedMatMul(a, b, bias)) -> MatMulGelu; GeluGrad(dy, z) -> dy * slope
bool fuse_matmul_gelu(Ir& ir, NodeId id) {
  if (ir.node(id).op != kGelu) return false;
  const ValueId z = ir.node(id).inputs[0], y = ir.node(id).outputs[0];
  if (!ir.is_op(z, kFusedMatMul)) return false;
  const NodeId product = ir.producer(z);
  if (ir.node(product).attributes.flag("relu") || !fits(ir, ir.node(product)) || !unordered(ir, product) ||
      !fusable(ir, product, id))
    return false;
  std::vector<NodeId> gradients;
  bool others = false;
  for (NodeId reader : readers_of(ir, z)) {
    if (reader == id) continue;
    const IrNode& node = ir.node(reader);
    if (node.op == kGeluGrad && node.inputs[0] != z)
      gradients.push_back(reader);
    else
      others = true;
  }
  const TensorInfo info = ir.info(z);
  ir.change(product, [&](IrNode& node) {
    node.op = kMatMulGelu;
    node.rank = id;
    node.attributes.set("slope", !gradients.empty());
    node.attributes.set("before", others);
  });
  ir.take_output(product, y, 0);
  absorb(ir, product, id);
  if (!gradients.empty()) {
    const ValueId slope = ir.add_output(product, info);
    for (NodeId gradient : gradients) {
      ir.change(gradient, [&](IrNode& node) {
        node.op = kMul;
        node.inputs[1] = slope;
      });
    }
  }
  if (others) ir.take_output(product, z, static_cast<int>(ir.node(product).outputs.size()));
  return true;
}

// MatMul(dy, w) * slope, and the sum of its columns -> MatMulScaled
bool fuse_gelu_gradient(Ir& ir, NodeId id) {
  if (ir.node(id).op != kMul || !is_slope(ir, ir.node(id).inputs[1])) return false;
  const ValueId dy = ir.node(id).inputs[0], slope = ir.node(id).inputs[1];
  if (!ir.is_op(dy, kMatMul) || !(ir.info(dy).shape == ir.info(slope).shape)) return false;
  NodeId product = ir.producer(dy);
  if (!fits(ir, ir.node(product)) || !unordered(ir, product) || !fusable(ir, product, id)) return false;
  const ValueId result = ir.node(id).outputs[0];
  product = own_product(ir, product);
  ir.change(product, [&](IrNode& node) {
    node.op = kMatMulScaled;
    node.inputs.push_back(slope);
    node.rank = id;
  });
  ir.take_output(product, result, 0);
  absorb(ir, product, id);
  take_column_sums(ir, product);
  return true;
}

}  // namespace belfry
