// Max pooling with its gradient: the forward pass stores which cell won; the backward pass needs nothing else.
#include "belfry/engine/cpu/fuse/fusion.h"

namespace belfry {
namespace {

const OpKind kMaxPool = op_kind("MaxPool"), kMaxPoolGrad = op_kind("MaxPoolGrad"),
             kMaxPoolIndexed = op_kind("MaxPoolIndexed"), kMaxPoolIndexedGrad = op_kind("MaxPoolIndexedGrad");

}  // namespace

// MaxPool(x) -> y and MaxPoolGrad(x, y, dy) become MaxPoolIndexed -> (y, index) and MaxPoolIndexedGrad(index,
// dy, y), which follows y's layout.
bool fuse_max_pool_index(Ir& ir, NodeId id) {
  if (ir.node(id).op != kMaxPool || ir.info(ir.node(id).inputs[0]).dtype != DType::f32 ||
      ir.info(ir.node(id).outputs[0]).elements() == 0)
    return false;
  const Ints& window = ir.node(id).attributes.get<Ints>("window");
  if (window[0] * window[1] > 255) return false;
  const ValueId x = ir.node(id).inputs[0], y = ir.node(id).outputs[0];
  ValueId index = kNone;
  for (NodeId reader : readers_of(ir, y)) {
    if (ir.node(reader).op != kMaxPoolGrad || ir.node(reader).inputs[0] != x || ir.node(reader).inputs[1] != y)
      continue;
    if (index == kNone) {
      ir.change(id, [](IrNode& node) { node.op = kMaxPoolIndexed; });
      index = ir.add_output(id, {.dtype = DType::u8, .shape = {0}});  // sized with the layout
    }
    ir.change(reader, [&](IrNode& grad) {
      grad.op = kMaxPoolIndexedGrad;
      grad.inputs = {index, grad.inputs[2], y};
      grad.attributes.set("relu", false);
    });
  }
  return index != kNone;
}

// ReluGrad(MaxPoolIndexedGrad(index, dy), r), where r = relu(..) was pooled: the winner passes its gradient on
// only if the pooled value y is above 0, so y replaces the much larger r.
bool fuse_max_pool_relu_gradient(Ir& ir, NodeId id) {
  if (ir.node(id).op != kReluGrad || !unordered(ir, id)) return false;
  const ValueId dr = ir.node(id).inputs[0], r = ir.node(id).inputs[1];
  if (!ir.is_op(dr, kMaxPoolIndexedGrad) || only_reader(ir, dr) != id) return false;
  const NodeId grad = ir.producer(dr);
  const NodeId pool = ir.producer(ir.node(grad).inputs[0]);
  if (ir.node(pool).inputs[0] != r || !fusable(ir, id, grad)) return false;
  const ValueId result = ir.node(id).outputs[0];
  ir.change(grad, [&](IrNode& node) {
    node.attributes.set("relu", true);
    node.rank = id;
  });
  ir.take_output(grad, result, 0);
  absorb(ir, grad, id);
  return true;
}

}  // namespace belfry
