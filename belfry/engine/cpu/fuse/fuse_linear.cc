// Ops around convolutions and matrix products: bias and (leaky) relu forward, their gradients backward.
#include <algorithm>

#include "belfry/engine/cpu/fuse/fusion.h"

namespace belfry {
namespace {

const OpKind kConv2D = op_kind("Conv2D"), kConv2DTranspose = op_kind("Conv2DTranspose"),
             kConv2DBackpropFilter = op_kind("Conv2DBackpropFilter"),
             kFusedConvBackpropFilter = op_kind("FusedConvBackpropFilter"), kFusedBiasGrad = op_kind("FusedBiasGrad"),
             kFusedReluGradBias = op_kind("FusedReluGradBias"), kFusedConv = op_kind("FusedConv"),
             kFusedConvTranspose = op_kind("FusedConvTranspose");

}  // namespace

// The sum with a bias is rounded differently inside a primitive and after it. Which one it is must not depend on other
// readers of the product (a hook that fetches it), so for these the product is computed a second time.
NodeId own_product(Ir& ir, NodeId id) {
  const ValueId product = ir.node(id).outputs[0];
  if (ir.readers(product).size() == 1) return id;
  IrNode copy = ir.node(id);
  return ir.add_node(std::move(copy), {ir.info(product)});
}

namespace {

// The Relu, or if allowed the LeakyRelu, that is the only reader of a value. (Their gradients read their outputs; a
// leaky one's whose alpha is below 0 reads the input, which then has two readers.)
NodeId relu_after(const Ir& ir, ValueId value, bool leaky) {
  const NodeId reader = only_reader(ir, value);
  if (reader == kNone) return kNone;
  return ir.node(reader).op == kRelu || (leaky && ir.node(reader).op == kLeakyRelu) ? reader : kNone;
}

// The bias of an Add that may absorb the product, or kNone.
ValueId bias_of(const Ir& ir, NodeId add, NodeId id) {
  const ValueId product = ir.node(id).outputs[0];
  if (ir.node(add).op != kAdd || !unordered(ir, add) ||
      !(ir.info(ir.node(add).outputs[0]).shape == ir.info(product).shape))
    return kNone;
  const IdList& terms = ir.node(add).inputs;
  const ValueId bias = terms[0] == product ? terms[1] : terms[0];
  return is_bias(ir, bias, product) && !ir.depends_on(bias, id) ? bias : kNone;
}

// y = Add(product, bias) [-> Relu] into the product itself. The node's output is the last one's.
bool fuse_bias_relu(Ir& ir, NodeId product_id, OpKind fused_op, bool leaky) {
  const ValueId product = ir.node(product_id).outputs[0];
  if (ir.info(product).dtype != DType::f32 || ir.info(product).elements() == 0 || !unordered(ir, product_id))
    return false;
  bool fused = false;
  for (NodeId add : readers_of(ir, product)) {
    const ValueId bias = bias_of(ir, add, product_id);
    if (bias == kNone || ir.node(add).device != ir.node(product_id).device) continue;
    NodeId last = add;
    const NodeId relu = relu_after(ir, ir.node(add).outputs[0], leaky);
    if (relu != kNone && fusable(ir, add, relu)) last = relu;
    const ValueId result = ir.node(last).outputs[0];
    const NodeId id = own_product(ir, product_id);
    ir.change(id, [&](IrNode& node) {
      node.op = fused_op;
      node.inputs.push_back(bias);
      node.attributes.set("relu", last != add);
      if (last != add) node.attributes.set("alpha", ir.node(last).attributes.get_or<double>("alpha", 0));
      node.rank = last;  // the bias may have been made after the product
    });
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
  if (node.op != kConv2D || node.attributes.get<std::string>("data_format") != "NHWC" ||
      ir.info(node.inputs[0]).elements() == 0)
    return false;
  const bool leaky = node.attributes.integer("groups") == 1;  // our own kernels, for groups, support only relu
  return fuse_bias_relu(ir, id, kFusedConv, leaky);
}

// Only if the result lies in blocks of channels, which other kernels cannot add a bias to. (The limit is that of
// has_few_channels in engine/cpu, which makes plain images.)
bool fuse_conv_transpose_bias_relu(Ir& ir, NodeId id) {
  const IrNode& node = ir.node(id);
  if (node.op != kConv2DTranspose || node.attributes.get<std::string>("data_format") != "NHWC" ||
      ir.info(node.inputs[0]).elements() == 0 || ir.info(node.outputs[0]).shape[-1] <= 4)
    return false;
  return fuse_bias_relu(ir, id, kFusedConvTranspose, true);
}

bool fuse_matmul_bias_relu(Ir& ir, NodeId id) {
  const IrNode& node = ir.node(id);
  if (node.op != kMatMul || ir.info(node.inputs[0]).elements() == 0) return false;
  // One product of two matrices; a batch times one matrix counts too.
  const bool batch = ir.info(node.inputs[0]).shape.rank() > 2;
  if (ir.info(node.inputs[1]).shape.rank() > 2 || (batch && node.attributes.flag("transpose_a"))) return false;
  return fuse_bias_relu(ir, id, kFusedMatMul, false);
}

// SumToLike(dy -> bias) reads the same dy as the filter's gradient: one primitive computes both.
bool fuse_conv_bias_gradient(Ir& ir, NodeId id) {
  const IrNode& node = ir.node(id);
  if (node.op != kConv2DBackpropFilter || node.outputs.size() != 1 ||
      node.attributes.get<std::string>("data_format") != "NHWC" || ir.info(node.inputs[2]).dtype != DType::f32 ||
      node.attributes.find(kPrecision) != nullptr)  // of a dy that is not rounded
    return false;
  const ValueId dy = node.inputs[2];
  if (ir.info(dy).elements() == 0 || ir.info(node.inputs[0]).elements() == 0) return false;
  for (NodeId reader : readers_of(ir, dy)) {
    const IrNode& sum = ir.node(reader);
    if (sum.op != kSumToLike || !is_bias(ir, sum.outputs[0], dy) || !fusable(ir, id, reader)) continue;
    const ValueId db = sum.outputs[0];
    ir.change(id, [](IrNode& filter) { filter.op = kFusedConvBackpropFilter; });
    ir.take_output(id, db, 1);
    absorb(ir, id, reader);
    return true;
  }
  return false;
}

// A bias's gradient that was fused with nothing else: in dy's layout.
bool fuse_bias_gradient_alone(Ir& ir, NodeId id) {
  if (ir.node(id).op != kSumToLike || !is_bias(ir, ir.node(id).outputs[0], ir.node(id).inputs[0])) return false;
  ir.change(id, [&](IrNode& node) {
    node.op = kFusedBiasGrad;
    node.attributes.set("axis", static_cast<std::int64_t>(ir.info(node.inputs[0]).shape.rank() - 1));
  });
  return true;
}

// da = ReluGrad(dy, y) and SumToLike(da -> bias): one pass over dy and y.
bool fuse_relu_bias_gradient(Ir& ir, NodeId id) {
  if (ir.node(id).op != kReluGrad) return false;
  const ValueId da = ir.node(id).outputs[0];
  for (NodeId reader : readers_of(ir, da)) {
    const IrNode& sum = ir.node(reader);
    if (sum.op != kSumToLike || !is_bias(ir, sum.outputs[0], da) || !fusable(ir, id, reader)) continue;
    const ValueId db = sum.outputs[0];
    ir.change(id, [&](IrNode& node) {
      node.op = kFusedReluGradBias;
      node.attributes.set("axis", static_cast<std::int64_t>(ir.info(da).shape.rank() - 1));
    });
    ir.take_output(id, db, 1);
    absorb(ir, id, reader);
    return true;
  }
  return false;
}

}  // namespace belfry
