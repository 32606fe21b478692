// What surrounds convolutions and matrix products: bias and relu forward, their gradients backward.
#include <algorithm>

#include "belfry/engine/fusion.h"

namespace belfry {

// The sum with a bias is rounded differently inside a primitive and after it. Which one it is must not depend on who
// else wants the product (a hook that fetches it), so for other readers the product is computed once more.
NodeId own_product(Ir& ir, NodeId id) {
  const ValueId product = ir.node(id).outputs[0];
  if (Uses(ir).count(product) == 1) return id;
  IrNode copy = ir.node(id);
  return ir.add_node(std::move(copy), {ir.info(product)});
}

namespace {

// The Relu that is the only forward reader of a value; its gradient reads Relu's output, never its input.
NodeId relu_after(const Ir& ir, ValueId value) {
  const NodeId reader = only_reader(ir, value);
  return reader != kNone && ir.node(reader).op == "Relu" ? reader : kNone;
}

// The bias of an Add that may take the product in, or kNone.
ValueId bias_of(const Ir& ir, NodeId add, NodeId id) {
  const ValueId product = ir.node(id).outputs[0];
  if (ir.node(add).op != "Add" || !unordered(ir, add) ||
      !(ir.info(ir.node(add).outputs[0]).shape == ir.info(product).shape))
    return kNone;
  const std::vector<ValueId>& terms = ir.node(add).inputs;
  const ValueId bias = terms[0] == product ? terms[1] : terms[0];
  // Made before the product, or from nothing: it cannot depend on the product.
  const bool independent = ir.is_op(bias, "Variable") || ir.is_op(bias, "Constant") || ir.value(bias).producer < id;
  return independent && is_bias(ir, bias, product) ? bias : kNone;
}

// y = Add(product, bias) [-> Relu] into the product itself. The node's output is the last one's.
bool fuse_bias_relu(Ir& ir, NodeId product_id, const char* fused_op) {
  const ValueId product = ir.node(product_id).outputs[0];
  if (ir.info(product).dtype != DType::f32 || ir.info(product).elements() == 0 || !unordered(ir, product_id))
    return false;
  bool fused = false;
  for (NodeId add : readers_of(ir, product)) {
    const ValueId bias = bias_of(ir, add, product_id);
    if (bias == kNone || ir.node(add).device != ir.node(product_id).device) continue;
    NodeId last = add;
    const NodeId relu = relu_after(ir, ir.node(add).outputs[0]);
    if (relu != kNone && fusable(ir, add, relu)) last = relu;
    const ValueId result = ir.node(last).outputs[0];
    const NodeId id = own_product(ir, product_id);
    IrNode& node = ir.node(id);
    node.op = fused_op;
    node.inputs.push_back(bias);
    node.attributes.set("relu", last != add);
    node.rank = last;  // the bias may have been made after the product
    ir.take_output(id, result, 0);
    absorb(ir, id, add);
    if (last != add) absorb(ir, id, last);
    fused = true;
  }
  return fused;
}

}  // namespace

bool fuse_conv_bias_relu(Ir& ir, NodeId id) {
  const IrNode& node = ir.node(id);
  if (node.op != "Conv2D" || node.attributes.get<std::string>("data_format") != "NHWC" ||
      ir.info(node.inputs[0]).elements() == 0)
    return false;
  return fuse_bias_relu(ir, id, "FusedConv");
}

bool fuse_matmul_bias_relu(Ir& ir, NodeId id) {
  const IrNode& node = ir.node(id);
  if (node.op != "MatMul" || ir.info(node.inputs[0]).elements() == 0) return false;
  // One product of two matrices; a batch times one matrix is one, too.
  const bool batch = ir.info(node.inputs[0]).shape.rank() > 2;
  if (ir.info(node.inputs[1]).shape.rank() > 2 || (batch && node.attributes.flag("transpose_a"))) return false;
  return fuse_bias_relu(ir, id, "FusedMatMul");
}

// SumToLike(dy -> bias) reads the same dy as the filter's gradient does: one primitive gives both.
bool fuse_conv_bias_gradient(Ir& ir, NodeId id) {
  const IrNode& node = ir.node(id);
  if (node.op != "Conv2DBackpropFilter" || node.outputs.size() != 1 ||
      node.attributes.get<std::string>("data_format") != "NHWC" || ir.info(node.inputs[2]).dtype != DType::f32)
    return false;
  const ValueId dy = node.inputs[2];
  if (ir.info(dy).elements() == 0 || ir.info(node.inputs[0]).elements() == 0) return false;
  for (NodeId reader : readers_of(ir, dy)) {
    const IrNode& sum = ir.node(reader);
    if (sum.op != "SumToLike" || !is_bias(ir, sum.outputs[0], dy) || !fusable(ir, id, reader)) continue;
    const ValueId db = sum.outputs[0];
    ir.node(id).op = "FusedConvBackpropFilter";
    ir.take_output(id, db, 1);
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
    if (sum.op != "SumToLike" || !is_bias(ir, sum.outputs[0], da) || !fusable(ir, id, reader)) continue;
    const ValueId db = sum.outputs[0];
    ir.node(id).op = "FusedReluGradBias";
    ir.node(id).attributes.set("axis", static_cast<std::int64_t>(ir.info(da).shape.rank() - 1));
    ir.take_output(id, db, 1);
    absorb(ir, id, reader);
    return true;
  }
  return false;
}

}  // namespace belfry
