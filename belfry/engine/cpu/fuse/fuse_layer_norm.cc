// Layer norm with the residual sum before it, and its gradient with the sum that joins the residual's: saves one read
// of the tensors in between.
#include <algorithm>

#include "belfry/engine/cpu/fuse/fusion.h"

namespace belfry {
namespace {

const OpKind kLayerNorm = op_kind("LayerNorm"), kFusedLayerNorm = op_kind("FusedLayerNorm"),
             kLayerNormGrad = op_kind("LayerNormGrad"), kFusedLayerNormGrad = op_kind("FusedLayerNormGrad");

// A sum of two different tensors of one shape, no control edges.
bool is_plain_sum(const Ir& ir, NodeId add) {
  const IrNode& node = ir.node(add);
  return node.op == kAdd && node.inputs[0] != node.inputs[1] && unordered(ir, add) &&
         ir.info(node.inputs[0]).shape == ir.info(node.inputs[1]).shape;
}

bool usable(const Ir& ir, ValueId v) { return ir.info(v).dtype == DType::f32 && ir.info(v).elements() > 0; }

}  // namespace

// s = Add(a, b); LayerNorm(s, gamma, beta) -> FusedLayerNorm(a, gamma, beta, b), whose output 3 is s
bool fuse_layer_norm_sum(Ir& ir, NodeId id) {
  if (ir.node(id).op != kLayerNorm || !unordered(ir, id)) return false;
  const ValueId s = ir.node(id).inputs[0];
  const NodeId add = ir.producer(s);
  if (!usable(ir, s) || add == kNone || !is_plain_sum(ir, add) || !fusable(ir, id, add)) return false;
  // Gamma and beta must not be made from the sum, which now comes after them.
  if (ir.depends_on(ir.node(id).inputs[1], add) || ir.depends_on(ir.node(id).inputs[2], add)) return false;
  ir.change(id, [&](IrNode& node) {
    node.op = kFusedLayerNorm;
    node.inputs[0] = ir.node(add).inputs[0];
    node.inputs.push_back(ir.node(add).inputs[1]);
    node.rank = add;
  });
  ir.take_output(id, s, 3);
  absorb(ir, id, add);
  return true;
}

// (dx, dgamma, dbeta) = LayerNormGrad(..); Add(dx, r) -> FusedLayerNormGrad(.., r). It rounds once less inside, so
// other readers of dx get a separate one.
bool fuse_layer_norm_gradient_sum(Ir& ir, NodeId id) {
  if (ir.node(id).op != kLayerNormGrad || !unordered(ir, id)) return false;
  const ValueId dx = ir.node(id).outputs[0];
  if (!usable(ir, dx)) return false;
  for (NodeId add : readers_of(ir, dx)) {
    if (!is_plain_sum(ir, add) || !fusable(ir, id, add)) continue;
    const IdList terms = ir.node(add).inputs;
    const ValueId residual = terms[terms[0] == dx ? 1 : 0], sum = ir.node(add).outputs[0];
    if (ir.depends_on(residual, id)) continue;
    if (readers_of(ir, dx).size() > 1) {
      IrNode copy = ir.node(id);
      const NodeId other =
          ir.add_node(std::move(copy), {ir.info(dx), ir.info(ir.node(id).outputs[1]), ir.info(ir.node(id).outputs[2])});
      const ValueId replacement = ir.node(other).outputs[0];
      for (NodeId reader : readers_of(ir, dx))
        if (reader != add) ir.change(reader, [&](IrNode& node) { std::ranges::replace(node.inputs, dx, replacement); });
    }
    ir.change(id, [&](IrNode& node) {
      node.op = kFusedLayerNormGrad;
      node.inputs.push_back(residual);
      node.rank = add;
    });
    ir.take_output(id, sum, 0);
    absorb(ir, id, add);
    return true;
  }
  return false;
}

}  // namespace belfry
