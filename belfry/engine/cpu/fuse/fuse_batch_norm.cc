// Batch norm, the residual sum and (leaky) relu in one kernel forward and one backward. The forward kernel stores one
// bit per element, the sign of relu's input, so the backward one reads neither relu's output nor the sum.
#include <algorithm>

#include "belfry/engine/cpu/fuse/fusion.h"

namespace belfry {
namespace {

const OpKind kBatchNorm = op_kind("BatchNorm"), kFusedBatchNorm = op_kind("FusedBatchNorm"),
             kBatchNormGrad = op_kind("BatchNormGrad"), kFusedBatchNormGrad = op_kind("FusedBatchNormGrad"),
             kLeakyReluGrad = op_kind("LeakyReluGrad");

bool usable(const Ir& ir, const IrNode& node) {
  return ir.info(node.inputs[0]).dtype == DType::f32 && ir.info(node.inputs[0]).elements() > 0;
}

bool is_relu(const IrNode& node) { return node.op == kRelu || node.op == kLeakyRelu; }

}  // namespace

// (y, mean, variance) = BatchNorm(x, gamma, beta); [s = y + residual;] r = Relu(s)
bool fuse_batch_norm_relu(Ir& ir, NodeId id) {
  if (ir.node(id).op != kBatchNorm || !usable(ir, ir.node(id)) || !unordered(ir, id)) return false;
  const ValueId y = ir.node(id).outputs[0];
  const NodeId first = only_reader(ir, y);
  if (first == kNone || !fusable(ir, id, first)) return false;
  NodeId add = kNone, relu = kNone;
  ValueId residual = kNone;
  if (is_relu(ir.node(first))) {
    relu = first;
  } else if (ir.node(first).op == kAdd && ir.node(first).inputs[0] != ir.node(first).inputs[1]) {
    add = first;
    residual = ir.node(add).inputs[ir.node(add).inputs[0] == y ? 1 : 0];
    const NodeId next = only_reader(ir, ir.node(add).outputs[0]);
    if (next == kNone || !is_relu(ir.node(next)) || !fusable(ir, id, next) ||
        !(ir.info(residual).shape == ir.info(y).shape))
      return false;
    if (ir.depends_on(residual, id)) return false;  // made from the batch's statistics
    relu = next;
  } else {
    return false;
  }
  const ValueId result = ir.node(relu).outputs[0];
  ir.change(id, [&](IrNode& node) {
    node.op = kFusedBatchNorm;
    node.attributes.set("relu", true);
    node.attributes.set("alpha", ir.node(relu).attributes.get_or<double>("alpha", 0));
    if (residual != kNone) node.inputs.push_back(residual);
    node.rank = relu;
  });
  ir.take_output(id, result, 0);
  ir.add_output(id, {.dtype = DType::u8, .shape = {0}});  // the mask, sized with the layout
  if (add != kNone) absorb(ir, id, add);
  absorb(ir, id, relu);
  return true;
}

// ds = ReluGrad(dr, r); (dx, dgamma, dbeta) = BatchNormGrad(ds, x, gamma, mean, variance); others may read ds too.
bool fuse_batch_norm_relu_gradient(Ir& ir, NodeId id) {
  if (ir.node(id).op != kBatchNormGrad || !usable(ir, ir.node(id)) || !unordered(ir, id)) return false;
  const ValueId ds = ir.node(id).inputs[0];
  if (!ir.is_op(ds, kReluGrad) && !ir.is_op(ds, kLeakyReluGrad)) return false;
  const NodeId relu_grad = ir.producer(ds);
  const ValueId dr = ir.node(relu_grad).inputs[0], r = ir.node(relu_grad).inputs[1];
  const NodeId forward = ir.producer(ir.node(id).inputs[3]);  // the node that made the mean
  if (forward == kNone || ir.node(forward).op != kFusedBatchNorm || ir.node(forward).outputs[0] != r ||
      ir.producer(r) != forward)
    return false;
  if (!fusable(ir, id, relu_grad)) return false;
  const bool shared = readers_of(ir, ds).size() > 1;
  ir.change(id, [&](IrNode& node) {
    node.op = kFusedBatchNormGrad;
    node.attributes.set("relu", true);
    node.attributes.set("alpha", ir.node(forward).attributes.get<double>("alpha"));
    node.inputs[0] = dr;
    node.inputs.push_back(ir.node(forward).outputs[3]);
    node.rank = relu_grad;
  });
  // Other readers of ds must now come after this node; the schedule follows the data.
  if (shared) ir.take_output(id, ds, 3);
  absorb(ir, id, relu_grad);
  return true;
}

bool fuse_batch_norm_alone(Ir& ir, NodeId id) {
  const OpKind op = ir.node(id).op;
  if ((op != kBatchNorm && op != kBatchNormGrad) || !usable(ir, ir.node(id))) return false;
  ir.change(id, [](IrNode& node) {
    node.op = node.op == kBatchNorm ? kFusedBatchNorm : kFusedBatchNormGrad;
    node.attributes.set("relu", false);
  });
  return true;
}

// dy = Add(a, b) with no other reader, as where a residual branch joins the main one: summed inside.
bool fuse_batch_norm_gradient_sum(Ir& ir, NodeId id) {
  if (ir.node(id).op != kFusedBatchNormGrad || ir.node(id).attributes.flag("sum")) return false;
  const ValueId dy = ir.node(id).inputs[0];
  if (!ir.is_op(dy, kAdd) || only_reader(ir, dy) != id) return false;
  const NodeId add = ir.producer(dy);
  const IdList terms = ir.node(add).inputs;
  if (!fusable(ir, id, add) || terms[0] == terms[1] || !(ir.info(terms[0]).shape == ir.info(terms[1]).shape))
    return false;
  ir.change(id, [&](IrNode& node) {
    node.attributes.set("sum", true);
    node.inputs[0] = terms[0];
    node.inputs.push_back(terms[1]);
  });
  absorb(ir, id, add);
  return true;
}

}  // namespace belfry
