#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/compile/feeds.h"
#include "belfry/engine/cpu/compile/part_plan.h"
#include "belfry/engine/engine_kinds.h"

namespace belfry {
namespace {

// A result may be written to the memory that a carried feed is read from.
void read_carried_first(Ir& ir, int carried_feeds) {
  if (carried_feeds == 0) return;
  std::vector<NodeId> carried;
  for (NodeId id = 0; id < static_cast<NodeId>(ir.nodes().size()); ++id)
    if (const IrNode& node = ir.node(id);
        node.op == kFeed && !node.dead && is_carried(ir, node.outputs[0], carried_feeds))
      carried.push_back(id);
  for (NodeId id = 0; id < static_cast<NodeId>(ir.nodes().size()); ++id)
    if (ir.node(id).op == kFetch && !ir.node(id).dead)
      ir.change(id, [&](IrNode& node) { node.after.insert(node.after.end(), carried.begin(), carried.end()); });
}

}  // namespace

std::unique_ptr<PartPlan> compile_part(Part part, const std::vector<Crossing>& crossings, RunSlots& slots,
                                       const CompileTarget& target, std::vector<HeldValue> held) {
  Ir& ir = part.ir;
  lower_precision(ir, target.precision, target.devices);
  fuse(ir);
  recompute(ir);
  order_variables(ir);
  if (target.algorithms != nullptr) choose_algorithms(ir, *target.algorithms, target.devices);
  {
    // Variables that have a value are reordered, by the cores of the part's device and no others.
    const TeamScope team(target.devices[static_cast<std::size_t>(part.device)].threads);
    assign_layouts(ir, target.store, target.devices, crossings);
  }
  settle_sends(ir, crossings);
  read_carried_first(ir, target.carried_feeds);
  std::vector<NodeId> order = schedule(ir);
  return emit(std::move(part), std::move(order), crossings, slots, target, std::move(held));  // and memory
}

}  // namespace belfry
