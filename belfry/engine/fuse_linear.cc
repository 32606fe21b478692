// What surrounds convolutions and matrix products: bias and relu forward, their gradients backward.
#include <algorithm>

#include "belfry/engine/fusion.h"

namespace belfry {
namespace {

// The Relu that is the only forward reader of a value; its gradient reads Relu's output, never its input.
NodeId relu_after(const Ir& ir, ValueId value) {
  const NodeId reader = only_reader(ir, value);
  return reader != kNone && ir.node(reader).op == "Relu" ? reader : kNone;
}

// y = Add(product, bias) [-> Relu] into the product itself. The node keeps its number; its output is the last one's.
bool fuse_bias_relu(Ir& ir, NodeId id, const char* fused_op) {
  const ValueId product = ir.node(id).outputs[0];
  if (ir.info(product).dtype != DType::f32 || ir.info(product).elements() == 0 || !unordered(ir, id)) return false;
  const NodeId add = only_reader(ir, product);
  if (add == kNone || ir.node(add).op != "Add" || !unordered(ir, add)) return false;
  const std::vector<ValueId> terms = ir.node(add).inputs;
  const ValueId bias = terms[0] == product ? terms[1] : terms[0];
  // Made before the product, or from nothing: it cannot depend on the product.
  const bool independent = ir.is_op(bias, "Variable") || ir.is_op(bias, "Constant") || ir.value(bias).producer < id;
  if (!independent || !is_bias(ir, bias, product) || !(ir.info(ir.node(add).outputs[0]).shape == ir.info(product).shape)) return false;
  NodeId last = add;
  const NodeId relu = relu_after(ir, ir.node(add).outputs[0]);
  if (relu != kNone && unordered(ir, relu)) last = relu;
  const ValueId result = ir.node(last).outputs[0];
  IrNode& node = ir.node(id);
  node.op = fused_op;
  node.inputs.push_back(bias);
  node.attributes.set("relu", last != add);
  node.rank = last;  // the bias may have been made after the product
  node.outputs[0] = result;
  ir.value(result).producer = id;
  absorb(ir, id, add);
  if (last != add) absorb(ir, id, last);
  return true;
}

}  // namespace

bool fuse_conv_bias_relu(Ir& ir, NodeId id) {
  const IrNode& node = ir.node(id);
  if (node.op != "Conv2D" || node.attributes.get<std::string>("data_format") != "NHWC" || node.attributes.integer("groups") != 1) return false;
  return fuse_bias_relu(ir, id, "FusedConv");
}

bool fuse_matmul_bias_relu(Ir& ir, NodeId id) {
  if (ir.node(id).op != "MatMul" || ir.info(ir.node(id).inputs[0]).elements() == 0) return false;
  return fuse_bias_relu(ir, id, "FusedMatMul");
}

// SumToLike(dy -> bias) reads the same dy as the filter's gradient does: one primitive gives both.
bool fuse_conv_bias_gradient(Ir& ir, NodeId id) {
  const IrNode& node = ir.node(id);
  if (node.op != "Conv2DBackpropFilter" || node.outputs.size() != 1 || node.attributes.get<std::string>("data_format") != "NHWC" ||
      node.attributes.integer("groups") != 1 || ir.info(node.inputs[2]).dtype != DType::f32)
    return false;
  const ValueId dy = node.inputs[2];
  if (ir.info(dy).elements() == 0 || ir.info(node.inputs[0]).elements() == 0) return false;
  for (NodeId reader : readers_of(ir, dy)) {
    const IrNode& sum = ir.node(reader);
    if (sum.op != "SumToLike" || !is_bias(ir, sum.outputs[0], dy) || !unordered(ir, reader)) continue;
    const ValueId db = sum.outputs[0];
    ir.node(id).op = "FusedConvBackpropFilter";
    ir.node(id).outputs.push_back(db);
    ir.value(db).producer = id;
    ir.value(db).output = 1;
    absorb(ir, id, reader);
    return true;
  }
  return false;
}

// da = ReluGrad(dy, y) and SumToLike(da -> bias): one pass over dy and y.
bool fuse_relu_bias_gradient(Ir& ir, NodeId id) {
  if (ir.node(id).op != "ReluGrad") return false;
  const ValueId da = ir.node(id).outputs[0];
  for (NodeId reader : readers_of(ir, da)) {
    const IrNode& sum = ir.node(reader);
    if (sum.op != "SumToLike" || !is_bias(ir, sum.outputs[0], da) || !unordered(ir, reader)) continue;
    const ValueId db = sum.outputs[0];
    ir.node(id).op = "FusedReluGradBias";
    ir.node(id).attributes.set("axis", static_cast<std::int64_t>(ir.info(da).shape.rank() - 1));
    ir.node(id).outputs.push_back(db);
    ir.value(db).producer = id;
    ir.value(db).output = 1;
    absorb(ir, id, reader);
    return true;
  }
  return false;
}

}  // namespace belfry
