#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/engine/cpu/compile/part_plan.h"
#include "belfry/engine/cpu/kernel/bf16_support.h"
#include "belfry/engine/engine_kinds.h"

namespace belfry {
namespace {

std::string operand(const Ir& ir, ValueId v) {
  const TensorInfo& info = ir.info(v);
  return fmt::format("{}{}{}", name_of(info.dtype), to_string(info.shape),
                     info.layout.plain() ? "" : ":" + info.layout.name());
}

std::vector<std::size_t> scratch_of(const PartPlan& part) {
  std::vector<std::size_t> out;
  for (const KernelPtr& kernel : part.kernels) out.push_back(kernel == nullptr ? 0 : kernel->scratch_bytes());
  return out;
}

void explain_instruction(const PartPlan& part, const Instruction& instruction, Explanation& out) {
  const Ir& ir = part.ir;
  const IrNode& node = ir.node(instruction.node);
  std::string inputs, outputs;
  for (ValueId v : node.inputs) {
    inputs += (inputs.empty() ? "" : " ") + operand(ir, v);
    if (!ir.is_op(v, kShapeOnly)) out.bytes += static_cast<double>(ir.info(v).bytes());
  }
  for (ValueId v : node.outputs) {
    outputs += (outputs.empty() ? "" : " ") + operand(ir, v);
    out.bytes += static_cast<double>(ir.info(v).bytes());
  }
  out.flops += flops_of(ir, node);
  if (node.copy_of != kNone) {
    ++out.recomputed;
    out.recomputed_flops += flops_of(ir, node);
    out.recomputed_segments.insert(node.origin->mark.segment);
  }
  out.reorders += node.op == kReorder;
  out.fused += !node.fused.empty();
  const std::string precision = node.attributes.get_or<std::string>(kPrecision, "");
  const KernelDef* kernel = kernel_of(node);
  const bool multiplies = kernel == nullptr || !kernel->runs_plans;  // a sub-plan has the precision, and no product
  out.native_bf16 += multiplies && precision == kBf16;
  out.emulated_bf16 += multiplies && precision == kBf16Emulated;
  if (kernel != nullptr && kernel->keeps_f32) out.kept_f32.push_back("'" + node.origin->name + "'");
  const std::string how = instruction.kernel->describe();
  out.text += fmt::format("{:4}  {}  {:28} {} -> {}{}  '{}'", out.instructions++, out.name_of(part.device),
                          node.op.name(), inputs, outputs, how.empty() ? "" : "  [" + how + "]", node.origin->name);
  if (!precision.empty()) out.text += "  " + precision;
  if (node.attributes.find(kAlgorithm) != nullptr)
    out.text += fmt::format("  autotune: {} ({})", node.attributes.get<std::string>(kAlgorithm),
                            node.attributes.get<std::string>(kAlgorithmSource));
  if (node.copy_of != kNone) out.text += "  recomputed";
  for (const Node* flag : node.conditions) out.text += fmt::format("  if '{}'", flag->name);
  if (!node.fused.empty()) {
    out.text += "  fuses:";
    for (const std::string& name : node.fused) out.text += " " + name;
  }
  out.text += "\n";
}

}  // namespace

void PartPlan::explain(Explanation& out) const {
  const int recomputed = out.recomputed;
  for (const Instruction& instruction : instructions) explain_instruction(*this, instruction, out);
  out.plain_arenas.resize(std::max(out.plain_arenas.size(), static_cast<std::size_t>(device) + 1));
  std::size_t& arena = out.plain_arenas[static_cast<std::size_t>(device)];
  arena = std::max(arena, out.recomputed == recomputed ? memory_plan.arena_bytes
                                                       : arena_without_recompute(ir, scratch_of(*this), held));
  out.bf16_reason = bf16_support().reason;
}

}  // namespace belfry
