#include <algorithm>
#include <set>
#include <utility>

#include "belfry/base/check.h"
#include "belfry/engine/cpu/kernel/bf16_support.h"
#include "belfry/engine/engine_kinds.h"
#include "belfry/engine/flops.h"
#include "belfry/engine/program.h"

namespace belfry {
namespace {

std::string megabytes(double bytes) { return fmt::format("{:.2f} MB", bytes / 1e6); }

std::string operand(const Ir& ir, ValueId v) {
  const TensorInfo& info = ir.info(v);
  return fmt::format("{}{}{}", name_of(info.dtype), to_string(info.shape),
                     info.layout.plain() ? "" : ":" + info.layout.name());
}

class Explainer {
 public:
  void add(const PartPlan& part) {
    for (const Instruction& instruction : part.instructions) add(part, instruction);
    const auto device = static_cast<std::size_t>(part.device);
    plain_arenas_.resize(std::max(plain_arenas_.size(), device + 1));
    plain_arenas_[device] = std::max(
        plain_arenas_[device],
        again_of_part_ == 0 ? part.memory.arena_bytes : arena_without_recompute(part.ir, scratch_of(part), part.held));
    again_ += std::exchange(again_of_part_, 0);
  }
  void add(Precision precision) {
    if (precision == Precision::f32) {
      text_ += "precision f32\n";
      return;
    }
    text_ += fmt::format("precision bf16 ({}): {} instructions multiply in bf16, {} of them emulated{}, and sum in f32",
                         precision == Precision::bf16 ? bf16_support().reason : "emulation was asked for",
                         native_ + emulated_, emulated_,
                         native_ > 0 && emulated_ > 0 ? " (convolutions with groups or channels first)" : "");
    for (std::size_t i = 0; i < f32_.size(); ++i)
      text_ += fmt::format("{} {}", i == 0 ? "; these multiply in f32:" : ",", f32_[i]);
    text_ += "\n";
  }

  std::string text(const MemoryUse& memory) const {
    return text_ + to_string(memory) +
           fmt::format("{} instructions, {} fused groups, {} reorders, arena {}, {:.3f} GFLOP, {} read and written\n",
                       count_, fused_, reorders_, megabytes(static_cast<double>(memory.arena())), flops_ / 1e9,
                       megabytes(bytes_)) +
           saving(memory);
  }

 private:
  static std::vector<std::size_t> scratch_of(const PartPlan& part) {
    std::vector<std::size_t> out;
    for (const KernelPtr& kernel : part.kernels) out.push_back(kernel == nullptr ? 0 : kernel->scratch_bytes());
    return out;
  }

  // What recompute costs and gains.
  std::string saving(MemoryUse memory) const {
    if (again_ == 0) return "";
    const auto with = static_cast<double>(memory.arena());
    memory.arenas = plain_arenas_;
    const auto without = static_cast<double>(memory.arena());
    return fmt::format(
        "recompute: {} instructions of {} segments run again, {:.3f} GFLOP; arena {} instead of {}, {} ({:.1f} %) "
        "saved\n",
        again_, segments_.size(), again_flops_ / 1e9, megabytes(with), megabytes(without), megabytes(without - with),
        100 * (without - with) / without);
  }

  void add(const PartPlan& part, const Instruction& instruction) {
    const Ir& ir = part.ir;
    const IrNode& node = ir.node(instruction.node);
    std::string inputs, outputs;
    for (ValueId v : node.inputs) {
      inputs += (inputs.empty() ? "" : " ") + operand(ir, v);
      if (!ir.is_op(v, kShapeOnly)) bytes_ += static_cast<double>(ir.info(v).bytes());
    }
    for (ValueId v : node.outputs) {
      outputs += (outputs.empty() ? "" : " ") + operand(ir, v);
      bytes_ += static_cast<double>(ir.info(v).bytes());
    }
    flops_ += flops_of(ir, node);
    if (node.copy_of != kNone) {
      ++again_of_part_;
      again_flops_ += flops_of(ir, node);
      segments_.insert(node.origin->mark.segment);
    }
    reorders_ += node.op == kReorder;
    fused_ += !node.fused.empty();
    const std::string precision = node.attributes.get_or<std::string>(kPrecision, "");
    const KernelDef* kernel = ir.kernel_of(node);
    const bool multiplies = kernel == nullptr || !kernel->runs_plans;  // a sub-plan has the precision, and no product
    native_ += multiplies && precision == kBf16;
    emulated_ += multiplies && precision == kBf16Emulated;
    if (kernel != nullptr && kernel->keeps_f32) f32_.push_back("'" + node.origin->name + "'");
    const std::string how = instruction.kernel->describe();
    text_ += fmt::format("{:4}  cpu:{}  {:28} {} -> {}{}  '{}'", count_++, part.device, node.op.name(), inputs, outputs,
                         how.empty() ? "" : "  [" + how + "]", node.origin->name);
    if (!precision.empty()) text_ += "  " + precision;
    if (node.attributes.find(kAlgorithm) != nullptr)
      text_ += fmt::format("  autotune: {} ({})", node.attributes.get<std::string>(kAlgorithm),
                           node.attributes.get<std::string>(kAlgorithmSource));
    if (node.copy_of != kNone) text_ += "  recomputed";
    for (const Node* flag : node.conditions) text_ += fmt::format("  if '{}'", flag->name);
    if (!node.fused.empty()) {
      text_ += "  fuses:";
      for (const std::string& name : node.fused) text_ += " " + name;
    }
    text_ += "\n";
  }

  std::string text_;
  double flops_ = 0, bytes_ = 0, again_flops_ = 0;
  int count_ = 0, reorders_ = 0, fused_ = 0;
  int again_ = 0, again_of_part_ = 0;      // instructions that are recomputed
  std::set<int> segments_;                 // that they belong to
  std::vector<std::size_t> plain_arenas_;  // by device: what they would be if nothing were recomputed
  int native_ = 0, emulated_ = 0;          // instructions that multiply in bf16
  std::vector<std::string> f32_;           // those that could and do not
};

}  // namespace

std::string Plan::explain() const {
  Explainer out;
  for (const auto& part : parts_) out.add(*part);
  out.add(precision_);
  const std::string text = out.text(memory());
  return rest_ == nullptr ? text : text + rest_->explain();
}

}  // namespace belfry
