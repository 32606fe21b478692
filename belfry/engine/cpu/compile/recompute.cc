// A marked segment's values are not kept from the forward pass for its gradients: nodes that make them are copied, and
// the gradients read the copies. It runs after fusion, so the copies use the same kernels and give the same bits. A
// copy is numbered directly before its first reader, and the schedule follows the numbers, so it runs when the gradient
// has reached it. Copies are never needed for correctness: whatever must run only once, or is not worth it, is simply
// kept.
#include <algorithm>
#include <map>
#include <tuple>

#include "belfry/engine/cpu/compile/passes.h"
#include "belfry/engine/engine_kinds.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/internal/subgraph.h"

namespace belfry {
namespace {

// Values this much smaller than the segment's largest are kept: statistics, masks of one bit per element.
constexpr std::size_t kSmall = 16;

bool repeatable(const OpDef& def) { return !def.side_effect && !def.host_kernel && (!def.stateful || def.random); }

// The op and all ops in its sub-graphs.
bool repeatable(const Node& node) {
  return repeatable(*node.def) && std::ranges::all_of(node.attributes.items(), [](const auto& item) {
           const auto* function = std::get_if<SubGraphPtr>(&item.second);
           return function == nullptr || std::ranges::all_of((*function)->graph->nodes(), [](const auto& inner) {
                    return inner->def->must_be_fed || repeatable(*inner);
                  });
         });
}

class Recomputer {
 public:
  explicit Recomputer(Ir& ir)
      : ir_(ir),
        before_(static_cast<NodeId>(ir.nodes().size())),
        place_(ir.nodes().size(), kNone),
        wanted_(ir.nodes().size(), 0) {}

  void run() {
    for (NodeId id = 0; id < before_; ++id)
      if (const RecomputeMark& mark = ir_.node(id).origin->mark; !ir_.node(id).dead && mark.segment != 0)
        segments_[mark.segment][mark.pass].push_back(id);
    const std::vector<NodeId> order = topological(ir_);
    for (std::size_t i = 0; i < order.size(); ++i) place_[at(order[i])] = static_cast<int>(i);
    // The last segment first: what the copies of one segment read from earlier segments is kept there.
    for (auto segment = segments_.rbegin(); segment != segments_.rend(); ++segment)
      for (const auto& [pass, readers] : segment->second)
        if (pass != 0) recompute(segment->first, pass, readers);
    if (static_cast<NodeId>(ir_.nodes().size()) == before_) return;
    renumber();
    remove_unneeded(ir_);
    // Values that only the gradients read were moved there, not computed twice.
    for (NodeId id = 0; id < static_cast<NodeId>(ir_.nodes().size()); ++id)
      if (const NodeId original = ir_.node(id).copy_of; original != kNone && ir_.node(original).dead)
        ir_.change(id, [](IrNode& node) { node.copy_of = kNone; });
  }

 private:
  int segment_of(NodeId id) const { return ir_.node(id).origin->mark.segment; }
  int pass_of(NodeId id) const {
    return ir_.node(id).recomputed != 0 ? ir_.node(id).recomputed : ir_.node(id).origin->mark.pass;
  }

  void recompute(int segment, int pass, const std::vector<NodeId>& readers) {
    const std::size_t small = largest_of(segment, pass) / kSmall;
    std::vector<NodeId> wanted, open = readers;
    while (!open.empty()) {
      const NodeId reader = open.back();
      open.pop_back();
      for (ValueId read : ir_.node(reader).inputs) {
        const ValueId v = original_of(read);
        const NodeId producer = ir_.producer(v);
        if (producer == kNone || wanted_[at(producer)] || !belongs(producer, segment, pass)) continue;
        if (ir_.info(v).bytes() <= small || !can_repeat(producer) || kept_anyway(v, segment, pass)) continue;
        wanted_[at(producer)] = 1;
        wanted.push_back(producer);
        open.push_back(producer);
      }
    }
    for (NodeId id : wanted) wanted_[at(id)] = 0;
    std::ranges::sort(wanted, {}, [&](NodeId id) { return place_[at(id)]; });
    copy(wanted, pass, readers);
  }

  // Values that an earlier pass has copied. A gradient that is itself recomputed for a later pass reads the later
  // copies.
  ValueId original_of(ValueId v) const {
    const NodeId producer = ir_.producer(v);
    if (producer == kNone || ir_.node(producer).copy_of == kNone) return v;
    return ir_.node(ir_.node(producer).copy_of).outputs[at(ir_.value(v).output)];
  }

  // Made by the segment before this pass.
  bool belongs(NodeId id, int segment, int pass) const { return segment_of(id) == segment && pass_of(id) < pass; }

  std::size_t largest_of(int segment, int pass) const {
    std::size_t most = 0;
    for (const auto& [made_in, nodes] : segments_.at(segment))
      if (made_in < pass)
        for (NodeId id : nodes)
          for (ValueId v : ir_.node(id).outputs)
            if (can_repeat(id)) most = std::max(most, ir_.info(v).bytes());
    return most;
  }

  bool can_repeat(NodeId id) const {
    const IrNode& node = ir_.node(id);
    if (node.op.definition().source || !updated_inputs(node).empty()) return false;
    return node.def() == nullptr || repeatable(*node.origin);
  }

  // Something outside reads it in the same pass or later, or takes it to another device.
  bool kept_anyway(ValueId v, int segment, int pass) const {
    return std::ranges::any_of(ir_.readers(v), [&](NodeId reader) {
      return ir_.node(reader).op == kSend || (segment_of(reader) != segment && pass_of(reader) >= pass);
    });
  }

  void copy(const std::vector<NodeId>& wanted, int pass, const std::vector<NodeId>& readers) {
    std::map<ValueId, ValueId> copies;
    const auto take_copies = [&](NodeId reader) {
      ir_.change(reader, [&](IrNode& node) {
        for (ValueId& v : node.inputs) {
          const auto found = copies.find(original_of(v));
          v = found == copies.end() ? original_of(v) : found->second;
        }
      });
    };
    for (NodeId id : wanted) {
      IrNode node = ir_.node(id);
      node.rank = kNone;
      node.recomputed = pass;
      node.copy_of = id;
      std::vector<TensorInfo> infos;
      for (ValueId v : node.outputs) infos.push_back(ir_.info(v));
      const NodeId made = ir_.add_node(std::move(node), infos);
      take_copies(made);
      for (std::size_t i = 0; i < infos.size(); ++i) copies[ir_.node(id).outputs[i]] = ir_.node(made).outputs[i];
    }
    for (NodeId reader : readers) take_copies(reader);
  }

  // Each copy goes directly before the first node that reads it.
  void renumber() {
    const NodeId end = static_cast<NodeId>(ir_.nodes().size());
    std::vector<NodeId> place(at(end), end);
    for (NodeId id = 0; id < before_; ++id) place[at(id)] = ir_.node(id).rank == kNone ? id : ir_.node(id).rank;
    for (NodeId id = end - 1; id >= before_; --id)  // the readers among the copies have higher numbers
      for (ValueId v : ir_.node(id).outputs)
        for (NodeId reader : ir_.readers(v)) place[at(id)] = std::min(place[at(id)], place[at(reader)]);
    for (NodeId id = 0; id < before_; ++id) place[at(id)] = id;
    std::vector<NodeId> order(at(end));
    for (NodeId id = 0; id < end; ++id) order[at(id)] = id;
    std::ranges::sort(order, {}, [&](NodeId id) { return std::tuple(place[at(id)], id < before_, id); });
    ir_.reorder(order);
  }

  Ir& ir_;
  const NodeId before_;                                         // the first copy's number
  std::vector<int> place_;                                      // by node: in the order before there are copies
  std::vector<char> wanted_;                                    // by node: of one segment and pass; 0 between them
  std::map<int, std::map<int, std::vector<NodeId>>> segments_;  // segment -> pass -> its nodes
};

}  // namespace

void recompute(Ir& ir) { Recomputer(ir).run(); }

std::size_t arena_without_recompute(const Ir& ir, const std::vector<std::size_t>& scratch_bytes,
                                    const GivenMemory& given) {
  Ir plain = ir;
  std::vector<NodeId> order = schedule(ir);
  for (NodeId id : order) {
    const NodeId original = ir.node(id).copy_of;
    if (original == kNone) continue;
    for (std::size_t i = 0; i < ir.node(id).outputs.size(); ++i)
      replace_uses(plain, ir.node(id).outputs[i], ir.node(original).outputs[i]);
    plain.remove(id);
  }
  std::erase_if(order, [&](NodeId id) { return plain.node(id).dead; });
  return plan_memory(plain, order, scratch_bytes, given).arena_bytes;
}

}  // namespace belfry
