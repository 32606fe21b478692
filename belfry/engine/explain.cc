#include "belfry/base/check.h"
#include "belfry/engine/cpu/bf16_support.h"
#include "belfry/engine/flops.h"
#include "belfry/engine/plan.h"

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
    arena_ += part.memory.arena_bytes;
  }
  void add(Precision precision) {
    if (precision == Precision::f32) {
      text_ += "precision f32\n";
      return;
    }
    text_ += fmt::format("precision bf16 ({}): {} instructions multiply in bf16, {} of them emulated, and sum in f32",
                         precision == Precision::bf16 ? bf16_support().reason : "emulation was asked for",
                         native_ + emulated_, emulated_);
    for (std::size_t i = 0; i < f32_.size(); ++i)
      text_ += fmt::format("{} {}", i == 0 ? "; these multiply in f32:" : ",", f32_[i]);
    text_ += "\n";
  }

  std::string text() const {
    return text_ +
           fmt::format("{} instructions, {} fused groups, {} reorders, arena {}, {:.3f} GFLOP, {} read and written\n",
                       count_, fused_, reorders_, megabytes(static_cast<double>(arena_)), flops_ / 1e9,
                       megabytes(bytes_));
  }

 private:
  void add(const PartPlan& part, const Instruction& instruction) {
    const Ir& ir = part.ir;
    const IrNode& node = ir.node(instruction.node);
    std::string inputs, outputs;
    for (ValueId v : node.inputs) {
      inputs += (inputs.empty() ? "" : " ") + operand(ir, v);
      if (!ir.is_op(v, "ShapeOnly")) bytes_ += static_cast<double>(ir.info(v).bytes());
    }
    for (ValueId v : node.outputs) {
      outputs += (outputs.empty() ? "" : " ") + operand(ir, v);
      bytes_ += static_cast<double>(ir.info(v).bytes());
    }
    flops_ += flops_of(ir, node);
    reorders_ += node.op == "Reorder";
    fused_ += !node.fused.empty();
    const std::string precision = node.attributes.get_or<std::string>(kPrecision, "");
    native_ += precision == kBf16;
    emulated_ += precision == kBf16Emulated;
    if (const KernelDef* kernel = ir.kernel_of(node); kernel != nullptr && kernel->keeps_f32)
      f32_.push_back("'" + node.origin->name + "'");
    const std::string how = instruction.kernel->describe();
    text_ += fmt::format("{:4}  cpu:{}  {:28} {} -> {}{}  '{}'", count_++, part.device, node.op, inputs, outputs,
                         how.empty() ? "" : "  [" + how + "]", node.origin->name);
    if (!precision.empty()) text_ += "  " + precision;
    if (node.attributes.find(kAlgorithm) != nullptr)
      text_ += fmt::format("  autotune: {} ({})", node.attributes.get<std::string>(kAlgorithm),
                           node.attributes.get<std::string>(kAlgorithmSource));
    if (!node.fused.empty()) {
      text_ += "  fuses:";
      for (const std::string& name : node.fused) text_ += " " + name;
    }
    text_ += "\n";
  }

  std::string text_;
  double flops_ = 0, bytes_ = 0;
  int count_ = 0, reorders_ = 0, fused_ = 0, native_ = 0, emulated_ = 0;
  std::vector<std::string> f32_;
  std::size_t arena_ = 0;
};

}  // namespace

std::string Plan::explain() const {
  Explainer out;
  for (const auto& part : parts_) out.add(*part);
  out.add(precision_);
  return out.text();
}

}  // namespace belfry
