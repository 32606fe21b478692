#include "belfry/engine/flops.h"

#include <algorithm>

#include "belfry/engine/engine_kinds.h"

namespace belfry {
namespace {

const OpKind kLstmSequence = op_kind("LstmSequence"), kGruSequence = op_kind("GruSequence"),
             kAttention = op_kind("Attention");

double elements(const Shape& shape) { return static_cast<double>(shape.elements()); }

bool has(const Work& work, std::string_view word) { return work.op.name().find(word) != std::string::npos; }

// By name, since fused ops have names of their own; and by shapes, since an op of the user's may have such a name too.
bool is_conv(const Work& work) {
  const bool backward = has(work, "Filter") || has(work, "Input");
  return has(work, "Conv") && work.inputs.size() >= (backward ? 3u : 2u) && !work.outputs.empty();
}
bool is_matmul(const Work& work) {
  return has(work, "MatMul") && work.inputs.size() >= 2 && work.inputs[0].rank() >= 2 && !work.outputs.empty();
}

// Every output pixel of the forward pass meets every weight once: 2 * (pixels of dy) * (elements of the filter).
double conv_flops(const Work& work) {
  const Shape& weights = has(work, "Filter") ? work.outputs[0] : work.inputs[1];
  const Shape& result = has(work, "Filter") || has(work, "Input") ? work.inputs[2]
                        : has(work, "Transpose")                  ? work.inputs[0]
                                                                  : work.outputs[0];
  return weights.rank() == 4 ? 2.0 * elements(result) * elements(weights) / static_cast<double>(weights[3]) : 0;
}

}  // namespace

double flops_of(const Work& work) {
  const OpKind op = work.op;
  if (is_conv(work)) return conv_flops(work);
  if (is_matmul(work)) {
    const auto inner = static_cast<double>(work.inputs[0][work.attributes.flag("transpose_a") ? -2 : -1]);
    return 2.0 * inner * elements(work.outputs[0]);
  }
  // The state of every step, [batch, units], times w_h, [units, gates].
  if (op == kLstmSequence || op == kGruSequence)
    return 2.0 * elements(work.outputs[0]) * static_cast<double>(work.inputs[2][1]);
  // Every query, [.., time, depth], meets every key and every value.
  if (op == kAttention)
    return 2.0 * (elements(work.inputs[0]) + elements(work.outputs[0])) * static_cast<double>(work.inputs[1][-2]);
  if (op == kReorder || op == kFeed || op == kFetch) return 0;
  double most = 0;
  for (const Shape& shape : work.outputs) most = std::max(most, elements(shape));
  return most;
}

double flops_of(const Ir& ir, const IrNode& node) {
  Work work{.op = node.op, .attributes = node.attributes, .inputs = {}, .outputs = {}};
  for (ValueId v : node.inputs) work.inputs.push_back(ir.info(v).shape);
  for (ValueId v : node.outputs) work.outputs.push_back(ir.info(v).shape);
  return flops_of(work);
}

}  // namespace belfry
