// Queries, keys and values that one projection makes lie side by side in its result: attention reads them there, and
// writes their gradients side by side, so that nothing has to be split or joined in memory.
#include <algorithm>

#include "belfry/engine/cpu/fuse/fusion.h"

namespace belfry {
namespace {

const OpKind kAttentionGrad = op_kind("AttentionGrad"), kAttention = op_kind("Attention"),
             kPackedAttention = op_kind("PackedAttention"), kConcat = op_kind("Concat"),
             kPackedAttentionGrad = op_kind("PackedAttentionGrad"), kSplit = op_kind("Split");

// The value of which q, k and v (three inputs from `first` on) are the three thirds along the last axis, or kNone.
ValueId whole_of(const Ir& ir, const IrNode& node, std::size_t first) {
  const ValueId q = node.inputs[first];
  if (ir.info(q).shape.rank() != 3 || ir.info(q).dtype != DType::f32 || ir.info(q).elements() == 0 ||
      !ir.is_op(q, kSplit))
    return kNone;
  const IrNode& split = ir.node(ir.producer(q));
  if (split.attributes.integer("axis") != 2 || split.outputs.size() != 3 || !unordered(ir, ir.producer(q)))
    return kNone;
  for (std::size_t i = 0; i < 3; ++i)
    if (node.inputs[first + i] != split.outputs[i] || !(ir.info(split.outputs[i]).shape == ir.info(q).shape))
      return kNone;
  return split.inputs[0];
}

// q, k and v become one input.
void join_inputs(IrNode& node, std::size_t first, ValueId whole) {
  node.inputs[first] = whole;
  node.inputs.erase(node.inputs.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                    node.inputs.begin() + static_cast<std::ptrdiff_t>(first) + 3);
}

}  // namespace

bool fuse_packed_attention(Ir& ir, NodeId id) {
  const bool gradient = ir.node(id).op == kAttentionGrad;
  if (!gradient && ir.node(id).op != kAttention) return false;
  const std::size_t first = gradient ? 1 : 0;
  const ValueId whole = whole_of(ir, ir.node(id), first);
  if (whole == kNone) return false;
  if (!gradient) {
    ir.change(id, [&](IrNode& node) {
      node.op = kPackedAttention;
      join_inputs(node, first, whole);
    });
    return true;
  }
  // The gradients have to meet in one tensor again, in the same order.
  const IdList outputs = ir.node(id).outputs;
  const NodeId concat = only_reader(ir, outputs[0]);
  if (concat == kNone || ir.node(concat).op != kConcat || ir.node(concat).inputs != outputs ||
      ir.node(concat).attributes.integer("axis") != 2 || only_reader(ir, outputs[1]) != concat ||
      only_reader(ir, outputs[2]) != concat || !fusable(ir, id, concat))
    return false;
  ir.change(id, [&](IrNode& node) {
    node.op = kPackedAttentionGrad;
    join_inputs(node, first, whole);
    node.outputs.clear();
  });
  ir.take_output(id, ir.node(concat).outputs[0], 0);
  absorb(ir, id, concat);
  return true;
}

}  // namespace belfry
