#include "belfry/engine/cpu/compile/passes.h"
#include "belfry/engine/engine_kinds.h"

namespace belfry {
namespace {

// Whether a kernel writes the value to memory that is not shared, and so could be the crossing's.
bool made_in_place_of_its_own(const Ir& ir, ValueId v) {
  const IrValue& value = ir.value(v);
  if (value.variable != nullptr || value.crossing != kNone || ir.op_of(v).definition().standing) return false;
  const KernelDef* kernel = kernel_of(ir.node(ir.producer(v)));
  return kernel == nullptr || !kernel->view;
}

}  // namespace

void settle_sends(Ir& ir, const std::vector<Crossing>& crossings) {
  const auto crosses = [&](ValueId v, int crossing) {
    ir.value(v).crossing = crossing;
    ir.value(v).leaves_device = crossings[static_cast<std::size_t>(crossing)].leaves_device;
  };
  for (const IrNode& node : ir.nodes())
    if (node.op == kReceive && !node.outputs.empty() && ir.value(node.outputs[0]).crossing != kNone)
      crosses(node.outputs[0], ir.value(node.outputs[0]).crossing);
  for (NodeId id : topological(ir)) {
    if (ir.node(id).op != kSend || ir.node(id).inputs.empty()) continue;
    const int crossing = static_cast<int>(ir.node(id).attributes.integer("crossing"));
    const ValueId v = ir.node(id).inputs[0];
    if (made_in_place_of_its_own(ir, v)) {
      crosses(v, crossing);
      continue;
    }
    IrNode copy{.op = kSnapshot,
                .origin = ir.node(id).origin,
                .inputs = {v},
                .after = ir.node(id).after,
                .device = ir.node(id).device,
                .rank = id};
    const ValueId moved = ir.node(ir.add_node(std::move(copy), {ir.info(v)})).outputs[0];
    crosses(moved, crossing);
    ir.change(id, [&](IrNode& node) { node.inputs[0] = moved; });
  }
}

}  // namespace belfry
