#include <algorithm>
#include <set>

#include "belfry/base/check.h"
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

}  // namespace

std::string Plan::explain() const {
  std::string text;
  double flops = 0, bytes = 0;
  int reorders = 0, fused = 0;
  for (std::size_t i = 0; i < instructions_.size(); ++i) {
    const Instruction& instruction = instructions_[i];
    const IrNode& node = ir_.node(instruction.node);
    std::string inputs, outputs;
    for (ValueId v : node.inputs) {
      inputs += (inputs.empty() ? "" : " ") + operand(ir_, v);
      if (!ir_.is_op(v, "ShapeOnly")) bytes += static_cast<double>(ir_.info(v).bytes());
    }
    for (ValueId v : node.outputs) {
      outputs += (outputs.empty() ? "" : " ") + operand(ir_, v);
      bytes += static_cast<double>(ir_.info(v).bytes());
    }
    flops += flops_of(ir_, node);
    reorders += node.op == "Reorder";
    fused += !node.fused.empty();
    const std::string how = instruction.kernel->describe();
    text += fmt::format("{:4}  cpu:{}  {:28} {} -> {}{}  '{}'", i, instruction.device, node.op, inputs, outputs,
                        how.empty() ? "" : "  [" + how + "]", node.origin->name);
    if (node.attributes.find(kAlgorithm) != nullptr)
      text += fmt::format("  autotune: {} ({})", node.attributes.get<std::string>(kAlgorithm),
                          node.attributes.get<std::string>(kAlgorithmSource));
    if (!node.fused.empty()) {
      text += "  fuses:";
      for (const std::string& name : node.fused) text += " " + name;
    }
    text += "\n";
  }
  std::size_t arena = 0;
  for (std::size_t b : memory_.arena_bytes) arena += b;
  text += fmt::format("{} instructions, {} fused groups, {} reorders, arena {}, {:.3f} GFLOP, {} read and written\n",
                      instructions_.size(), fused, reorders, megabytes(static_cast<double>(arena)), flops / 1e9,
                      megabytes(bytes));
  return text;
}

}  // namespace belfry
