#include <algorithm>

#include "belfry/engine/cpu/compile/passes.h"
#include "belfry/engine/engine_kinds.h"

namespace belfry {

namespace {

// Takes negligible time and memory: variables, constants, shapes, arithmetic on single numbers.
bool tiny(const Ir& ir, const IrNode& node) {
  const auto single = [&](ValueId v) { return ir.info(v).elements() <= 1; };
  return node.op.definition().standing || (!node.outputs.empty() && std::ranges::all_of(node.inputs, single) &&
                                           std::ranges::all_of(node.outputs, single));
}

}  // namespace

// In the order the graph was built, with two exceptions. What another device may be waiting for goes first. And an
// update runs as soon as its gradient is ready: the gradient's memory is then free at once instead of at the end of
// the step. The update's other inputs (a learning rate made from single numbers, built after the gradients) must not
// delay it.
std::vector<NodeId> schedule(const Ir& ir) {
  const auto place = [&](NodeId id) { return ir.node(id).rank == kNone ? id : ir.node(id).rank; };
  const auto awaited = [&](const IrNode& node) {
    return node.op == kSend ||
           std::ranges::any_of(node.outputs, [&](ValueId v) { return ir.value(v).crossing != kNone; });
  };
  const auto turn = [&](const IrNode& node) {
    if (awaited(node)) return 0;
    return !updated_inputs(node).empty() || node.op == kFetch || tiny(ir, node) ? 1 : 2;
  };
  // A variable and its copies change together: a failure in between would leave them different.
  return topological(ir, [&](NodeId id) {
    return ir.node(id).completes == kNone ? Rank{turn(ir.node(id)), place(id), id} : Rank{0, kNone, id};
  });
}

}  // namespace belfry
