#include "belfry/engine/cpu/compile/part_plan.h"
#include "belfry/engine/engine_kinds.h"

namespace belfry {
namespace {

// A result may be written where a carried feed is read from.
void read_carried_first(Ir& ir) {
  std::vector<NodeId> carried;
  for (NodeId id = 0; id < static_cast<NodeId>(ir.nodes().size()); ++id)
    if (const IrNode& node = ir.node(id); node.op == kFeed && !node.dead && ir.value(node.outputs[0]).carried)
      carried.push_back(id);
  for (NodeId id = 0; id < static_cast<NodeId>(ir.nodes().size()); ++id)
    if (ir.node(id).op == kFetch && !ir.node(id).dead)
      ir.change(id, [&](IrNode& node) { node.after.insert(node.after.end(), carried.begin(), carried.end()); });
}

}  // namespace

// A program is pruned and cut into parts once; each part goes through the other passes for the shapes it meets.
std::unique_ptr<PartPlan> compile_part(Part part, const std::vector<Crossing>& crossings, RunSlots& slots,
                                       const CompileTarget& target, std::vector<HeldValue> held,
                                       const std::map<ValueId, Array>& sizes) {
  Ir& ir = part.ir;
  infer_shapes(ir, sizes);
  std::map<int, TensorInfo> shapes;  // that cross
  for (std::size_t i = 0; i < crossings.size(); ++i)
    if (crossings[i].kind == Crossing::Kind::shape && crossings[i].from == part.number)
      shapes[static_cast<int>(i)] = ir.info(crossings[i].value);
  simplify(ir);
  lower_precision(ir, target.precision, target.devices);
  fuse(ir);
  recompute(ir);
  order_variables(ir);
  if (target.algorithms != nullptr) choose_algorithms(ir, *target.algorithms, target.devices);
  assign_layouts(ir, target.store, target.devices);
  settle_sends(ir, crossings);
  for (const IrNode& node : ir.nodes()) {
    if (node.op != kFeed || node.dead || ir.value(node.outputs[0]).crossing != kNone) continue;
    const bool carried = node.attributes.integer("index") < target.carried_feeds;
    (carried ? ir.value(node.outputs[0]).carried : ir.value(node.outputs[0]).fed) = true;
  }
  read_carried_first(ir);
  std::vector<NodeId> order = schedule(ir);
  std::unique_ptr<PartPlan> plan =
      emit(std::move(part), std::move(order), crossings, slots, target, std::move(held));  // and memory
  plan->sent.merge(shapes);
  return plan;
}

}  // namespace belfry
