#include <algorithm>
#include <set>

#include "belfry/base/check.h"
#include "belfry/engine/cpu/compile/part_plan.h"
#include "belfry/engine/cpu/kernel/bf16_support.h"
#include "belfry/engine/cpu/kernel/layout_kinds.h"
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
  out.reorders += node.op == kReorder;
  out.fused += !node.fused.empty();
  const std::string precision = node.attributes.get_or<std::string>(kPrecision, "");
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

// What bf16 does and does not, over all parts.
std::string precision_line(Precision precision, const std::vector<const PartPlan*>& parts) {
  if (precision == Precision::f32) return "precision f32\n";
  int native = 0, emulated = 0;  // instructions that multiply in bf16
  std::string kept;              // those that could and do not
  for (const PartPlan* part : parts)
    for (const Instruction& instruction : part->instructions) {
      const IrNode& node = part->ir.node(instruction.node);
      const std::string how = node.attributes.get_or<std::string>(kPrecision, "");
      const KernelDef* kernel = kernel_of(node);
      const bool multiplies = kernel == nullptr || !kernel->runs_plans;  // a sub-plan has the precision, and no product
      native += multiplies && how == kBf16;
      emulated += multiplies && how == kBf16Emulated;
      if (kernel != nullptr && kernel->keeps_f32)
        kept += fmt::format("{} '{}'", kept.empty() ? "; these multiply in f32:" : ",", node.origin->name);
    }
  return fmt::format("precision bf16 ({}): {} instructions multiply in bf16, {} of them emulated{}, and sum in f32{}\n",
                     precision == Precision::bf16 ? bf16_support().reason : "emulation was asked for",
                     native + emulated, emulated,
                     native > 0 && emulated > 0 ? " (convolutions with groups or channels first)" : "", kept);
}

// What recompute costs and gains.
std::string recompute_line(const std::vector<const PartPlan*>& parts, MemoryUse memory) {
  int recomputed = 0;
  double flops = 0;
  std::set<int> segments;
  std::vector<std::size_t> arenas(memory.arenas.size());  // by device: what they would be if nothing were recomputed
  for (const PartPlan* part : parts) {
    const int before = recomputed;
    for (const Instruction& instruction : part->instructions) {
      const IrNode& node = part->ir.node(instruction.node);
      if (node.copy_of == kNone) continue;
      ++recomputed;
      flops += flops_of(part->ir, node);
      segments.insert(node.origin->mark.segment);
    }
    std::size_t& arena = arenas[static_cast<std::size_t>(part->device)];
    arena = std::max(arena, recomputed == before ? part->memory_plan.arena_bytes
                                                 : arena_without_recompute(part->ir, scratch_of(*part), part->given));
  }
  if (recomputed == 0) return "";
  const auto with = static_cast<double>(memory.arena());
  for (std::size_t i = 0; i < arenas.size(); ++i)
    if (arenas[i] > 0) memory.arenas[i] = arenas[i];
  const auto without = static_cast<double>(memory.arena());
  return fmt::format(
      "recompute: {} instructions of {} segments run again, {:.3f} GFLOP; arena {} instead of {}, {} ({:.1f} %) "
      "saved\n",
      recomputed, segments.size(), flops / 1e9, megabytes(with), megabytes(without), megabytes(without - with),
      100 * (without - with) / without);
}

}  // namespace

void PartPlan::explain(Explanation& out) const {
  for (const Instruction& instruction : instructions) explain_instruction(*this, instruction, out);
}

std::string explain_parts(const std::vector<const CompiledPart*>& parts, const MemoryUse& use, Precision precision) {
  std::vector<const PartPlan*> plans;
  for (const CompiledPart* part : parts) plans.push_back(static_cast<const PartPlan*>(part));
  return precision_line(precision, plans) + recompute_line(plans, use);
}

}  // namespace belfry
