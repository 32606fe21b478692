// Lifetimes are positions in the schedule. Values that share memory (views, in-place results) form a group with one
// lifetime; groups and scratch buffers are placed largest first at the lowest offset that is free for their lifetime.
// Values that parts of one device leave to each other already have a place, which is taken until their last reader.
#include <algorithm>
#include <map>
#include <set>

#include "belfry/base/check.h"
#include "belfry/engine/cpu/compile/feeds.h"
#include "belfry/engine/cpu/compile/passes.h"
#include "belfry/engine/cpu/compile/placer.h"
#include "belfry/engine/engine_kinds.h"

namespace belfry {
namespace {

struct Block {
  std::size_t bytes = 0;
  int first = 0, last = 0;
  std::size_t* offset = nullptr;
  std::size_t number = 0;
};

class Planner {
 public:
  Planner(const Ir& ir, const std::vector<NodeId>& order, const std::vector<std::size_t>& scratch_bytes,
          const GivenMemory& given)
      : ir_(ir), order_(order), scratch_bytes_(scratch_bytes), held_(given.held), carried_feeds_(given.carried_feeds) {
    const std::size_t values = ir.values.size();
    first_.assign(values, 0);
    last_.assign(values, 0);
    plan_.offsets.assign(values, MemoryPlan::kNowhere);
    plan_.same_as.assign(values, kNone);
    plan_.scratch.assign(ir.nodes().size(), MemoryPlan::kNowhere);
  }

  MemoryPlan run() {
    find_received();
    share_views();
    find_lifetimes();
    share_in_place();
    keep_carried();
    keep_held();
    collect_blocks();
    for (std::size_t i = 0; i < blocks_.size(); ++i) blocks_[i].number = i;  // on a tie the one found first wins
    plan_.arena_bytes = place();
    return std::move(plan_);
  }

 private:
  // Whether it uses memory of the arena, as opposed to a variable's, a constant's, a feed's, that of a value that
  // leaves the device, or none.
  bool in_arena(ValueId v) const {
    const OpKind op = ir_.op_of(v);
    const IrValue& value = ir_.value(v);
    if (op == kReceive) return received_.contains(value.crossing);
    return value.variable == nullptr && !value.leaves_device && !lies_at_callers(ir_, v, carried_feeds_) &&
           !op.definition().standing;
  }

  void find_received() {
    for (const HeldValue& value : held_) received_[value.crossing] = kNone;
    for (NodeId id : order_)
      if (const IrNode& node = ir_.node(id); node.op == kReceive && !node.outputs.empty())
        if (const auto at = received_.find(ir_.value(node.outputs[0]).crossing); at != received_.end())
          at->second = node.outputs[0];
  }

  void share_views() {
    for (NodeId id : order_) {
      const IrNode& node = ir_.node(id);
      const KernelDef* kernel = kernel_of(node);
      if (kernel != nullptr && kernel->view && !node.inputs.empty())
        plan_.same_as[static_cast<std::size_t>(node.outputs[0])] = node.inputs[0];
    }
  }

  void find_lifetimes() {
    const int end = static_cast<int>(order_.size());
    for (int at = 0; at < end; ++at) {
      const IrNode& node = ir_.node(order_[static_cast<std::size_t>(at)]);
      for (ValueId v : node.outputs) {
        const std::size_t r = static_cast<std::size_t>(plan_.holder(v));
        if (static_cast<ValueId>(r) == v) first_[r] = at;
        last_[r] = std::max(last_[r], at);
      }
      for (ValueId v : node.inputs) {
        const std::size_t r = static_cast<std::size_t>(plan_.holder(v));
        last_[r] = std::max(last_[r], at);
        if (node.op == kSend) last_[r] = end;
      }
    }
    for (ValueId v : next_carried()) last_[static_cast<std::size_t>(plan_.holder(v))] = end;
    for (const HeldValue& value : held_)
      if (const ValueId v = received_.at(value.crossing); v != kNone) {
        first_[static_cast<std::size_t>(v)] = 0;
        if (!value.ends) last_[static_cast<std::size_t>(v)] = end;
      }
  }

  // The values of carried feeds in the next run: they may use the feeds' memory, so nothing that is computed from them
  // is put there.
  std::vector<ValueId> next_carried() const {
    std::set<std::int64_t> carried;
    for (NodeId id : order_)
      if (const IrNode& node = ir_.node(id); node.op == kFeed && is_carried(ir_, node.outputs[0], carried_feeds_))
        carried.insert(node.attributes.integer("index"));
    std::vector<ValueId> out;
    if (carried.empty()) return out;
    for (NodeId id : order_)
      if (const IrNode& node = ir_.node(id); node.op == kFetch && carried.contains(node.attributes.integer("index")))
        out.push_back(node.inputs[0]);
    return out;
  }

  void share_in_place() {
    for (int at = 0; at < static_cast<int>(order_.size()); ++at) {
      const IrNode& node = ir_.node(order_[static_cast<std::size_t>(at)]);
      const KernelDef* kernel = kernel_of(node);
      if (kernel == nullptr || kernel->view) continue;
      for (const auto& [input, output] : kernel->in_place) {
        if (input >= static_cast<int>(node.inputs.size()) || output >= static_cast<int>(node.outputs.size())) continue;
        if (try_share(node.inputs[static_cast<std::size_t>(input)], node.outputs[static_cast<std::size_t>(output)], at))
          break;
      }
    }
  }

  bool try_share(ValueId input, ValueId output, int at) {
    const ValueId from = plan_.holder(input), to = plan_.holder(output);
    if (from == to || to != output || !in_arena(from) || !in_arena(output)) return false;
    const TensorInfo &a = ir_.info(input), &b = ir_.info(output);
    if (last_[static_cast<std::size_t>(from)] != at || a.bytes() != b.bytes() || ir_.info(from).bytes() != b.bytes() ||
        !(a.shape == b.shape))
      return false;
    plan_.same_as[static_cast<std::size_t>(output)] = from;
    last_[static_cast<std::size_t>(from)] =
        std::max(last_[static_cast<std::size_t>(from)], last_[static_cast<std::size_t>(output)]);
    return true;
  }

  // Nothing else is put there, even after the value's last reader here.
  void keep_carried() {
    for (NodeId id : order_)
      if (const IrNode& node = ir_.node(id); node.op == kFeed && is_carried(ir_, node.outputs[0], carried_feeds_)) {
        first_[static_cast<std::size_t>(node.outputs[0])] = 0;
        last_[static_cast<std::size_t>(node.outputs[0])] = static_cast<int>(order_.size());
      }
  }

  // Their places are fixed.
  void keep_held() {
    for (HeldValue& value : held_) {
      const ValueId v = received_.at(value.crossing);
      int last = static_cast<int>(order_.size());
      if (value.ends) last = v == kNone ? kNone : last_[static_cast<std::size_t>(v)];
      if (v != kNone) plan_.offsets[static_cast<std::size_t>(v)] = value.offset;
      fixed_.push_back({.bytes = value.bytes, .first = 0, .last = last, .offset = &value.offset});
    }
  }

  void collect_blocks() {
    for (int at = 0; at < static_cast<int>(order_.size()); ++at) {
      const NodeId id = order_[static_cast<std::size_t>(at)];
      const IrNode& node = ir_.node(id);
      for (ValueId v : node.outputs) {
        const std::size_t i = static_cast<std::size_t>(v);
        if (plan_.holder(v) == v && node.op != kReceive && in_arena(v) && ir_.info(v).bytes() > 0)
          blocks_.push_back({ir_.info(v).bytes(), first_[i], last_[i], &plan_.offsets[i]});
      }
      const std::size_t scratch = scratch_bytes_[static_cast<std::size_t>(id)];
      if (scratch > 0) blocks_.push_back({scratch, at, at, &plan_.scratch[static_cast<std::size_t>(id)]});
    }
  }

  // Values for later parts first, so that their places do not depend on other sizes: those parts then need not be
  // compiled again. Then the largest. Returns the arena's size.
  std::size_t place() {
    const auto end = static_cast<int>(order_.size());
    const auto first = [&](const Block& block) { return block.last == end; };
    std::ranges::sort(blocks_, [&](const Block& a, const Block& b) {
      if (first(a) != first(b)) return first(a);
      return a.bytes != b.bytes ? a.bytes > b.bytes : a.number < b.number;
    });
    Placer placer(end + 1);
    std::size_t total = 0;
    for (const Block& block : fixed_) {
      total = std::max(total, *block.offset + block.bytes);
      if (block.first <= block.last) placer.take(*block.offset, block.bytes, {block.first, block.last});
    }
    for (const Block& block : blocks_) {
      *block.offset = placer.place(block.bytes, {block.first, block.last});
      total = std::max(total, *block.offset + block.bytes);
    }
    return total;
  }

  const Ir& ir_;
  const std::vector<NodeId>& order_;
  const std::vector<std::size_t>& scratch_bytes_;
  std::vector<int> first_, last_;
  std::vector<HeldValue> held_;
  const int carried_feeds_;
  std::map<int, ValueId> received_;  // by crossing of a held value: its value here, or kNone
  std::vector<Block> blocks_, fixed_;
  MemoryPlan plan_;
};

}  // namespace

MemoryPlan plan_memory(const Ir& ir, const std::vector<NodeId>& order, const std::vector<std::size_t>& scratch_bytes,
                       const GivenMemory& given) {
  return Planner(ir, order, scratch_bytes, given).run();
}

}  // namespace belfry
