// A cross-entropy and its gradient read the same logits and labels. If the gradient of the loss is known before the
// loss (a constant, as under a mean), both are computed in one pass.
#include "belfry/engine/cpu/fuse/fusion.h"
#include "belfry/engine/engine_kinds.h"

namespace belfry {
namespace {

// The op, its gradient, and both in one.
struct CrossEntropy {
  OpKind loss, gradient, both;
};
const CrossEntropy kKinds[] = {
    {op_kind("SparseSoftmaxCrossEntropy"), op_kind("SparseSoftmaxCrossEntropyGrad"), op_kind("FusedCrossEntropy")},
    {op_kind("SoftmaxCrossEntropy"), op_kind("SoftmaxCrossEntropyGrad"), op_kind("FusedDenseCrossEntropy")},
    {op_kind("SigmoidCrossEntropy"), op_kind("SigmoidCrossEntropyGrad"), op_kind("FusedSigmoidCrossEntropy")},
};

bool fuse_kind(Ir& ir, NodeId id, const CrossEntropy& kind) {
  if (ir.node(id).op != kind.loss) return false;
  const ValueId logits = ir.node(id).inputs[0], labels = ir.node(id).inputs[1];
  if (ir.info(logits).dtype != DType::f32 || ir.info(logits).elements() == 0) return false;
  for (NodeId reader : readers_of(ir, logits)) {
    const IrNode& grad = ir.node(reader);
    if (grad.op != kind.gradient || grad.inputs[0] != logits || grad.inputs[1] != labels ||
        !ir.is_op(grad.inputs[2], kConstant) || !fusable(ir, id, reader))
      continue;
    const ValueId dlogits = grad.outputs[0], factor = grad.inputs[2];
    ir.change(id, [&](IrNode& node) {
      node.op = kind.both;
      node.inputs.push_back(factor);
    });
    ir.take_output(id, dlogits, 1);
    absorb(ir, id, reader);
    return true;
  }
  return false;
}

}  // namespace

bool fuse_cross_entropy(Ir& ir, NodeId id) {
  for (const CrossEntropy& kind : kKinds)
    if (fuse_kind(ir, id, kind)) return true;
  return false;
}

}  // namespace belfry
