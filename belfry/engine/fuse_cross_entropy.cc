// A cross-entropy and its gradient read the same logits and labels. Where the gradient of the loss is known before the
// loss is (a constant, as under a mean), both are made in one pass.
#include "belfry/engine/fusion.h"

namespace belfry {
namespace {

bool fuse_with_gradient(Ir& ir, NodeId id, const char* gradient_op, const char* fused_op) {
  const ValueId logits = ir.node(id).inputs[0], labels = ir.node(id).inputs[1];
  if (ir.info(logits).dtype != DType::f32 || ir.info(logits).elements() == 0) return false;
  for (NodeId reader : readers_of(ir, logits)) {
    const IrNode& grad = ir.node(reader);
    if (grad.op != gradient_op || grad.inputs[0] != logits || grad.inputs[1] != labels ||
        !ir.is_op(grad.inputs[2], "Constant") || !fusable(ir, id, reader))
      continue;
    const ValueId dlogits = grad.outputs[0], factor = grad.inputs[2];
    ir.node(id).op = fused_op;
    ir.node(id).inputs.push_back(factor);
    ir.take_output(id, dlogits, 1);
    absorb(ir, id, reader);
    return true;
  }
  return false;
}

}  // namespace

bool fuse_cross_entropy(Ir& ir, NodeId id) {
  if (ir.node(id).op == "SparseSoftmaxCrossEntropy")
    return fuse_with_gradient(ir, id, "SparseSoftmaxCrossEntropyGrad", "FusedCrossEntropy");
  if (ir.node(id).op == "SigmoidCrossEntropy")
    return fuse_with_gradient(ir, id, "SigmoidCrossEntropyGrad", "FusedSigmoidCrossEntropy");
  return false;
}

}  // namespace belfry
