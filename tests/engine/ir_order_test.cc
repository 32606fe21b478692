// The order of a plan's nodes, beside the plainest way to find it.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "belfry/engine/ir.h"

namespace belfry {
namespace {

// Again and again, of all nodes that wait for nothing that is not there yet, the one with the smallest rank.
std::vector<NodeId> naive(const Ir& ir, FunctionRef<Rank(NodeId)> rank) {
  std::vector<NodeId> open, out;
  for (NodeId id = 0; id < static_cast<NodeId>(ir.nodes().size()); ++id)
    if (!ir.node(id).dead) open.push_back(id);
  const auto waits = [&](NodeId before) { return std::ranges::find(open, before) != open.end(); };
  while (!open.empty()) {
    NodeId best = kNone;
    for (NodeId id : open) {
      const IrNode& node = ir.node(id);
      if (std::ranges::any_of(node.after, waits) ||
          std::ranges::any_of(node.inputs, waits, [&](ValueId v) { return ir.producer(v); }))
        continue;
      if (best == kNone || rank(id) < rank(best)) best = id;
    }
    out.push_back(best);
    std::erase(open, best);
  }
  return out;
}

// Nodes with one output or two, some dead; edges lead from any node to any that comes later in a hidden order.
Ir random_ir(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  Ir ir;
  std::vector<NodeId> hidden;
  for (NodeId id = 0; id < 40; ++id) {
    ir.add_node({.op = op_kind("Made")}, std::vector<TensorInfo>(1 + below(2)));
    hidden.insert(hidden.begin() + static_cast<std::ptrdiff_t>(below(hidden.size() + 1)), id);
  }
  for (std::size_t to = 1; to < hidden.size(); ++to)
    ir.change(hidden[to], [&](IrNode& node) {
      for (std::size_t i = below(4); i > 0; --i) {
        const std::vector<ValueId>& outputs = ir.node(hidden[below(to)]).outputs;
        node.inputs.push_back(outputs[below(outputs.size())]);
      }
      if (below(4) == 0) node.after.push_back(hidden[below(to)]);
    });
  for (int i = 0; i < 5; ++i) ir.remove(static_cast<NodeId>(below(40)));
  return ir;
}

TEST(IrOrder, IsByNumberAmongNodesThatAreReady) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    const Ir ir = random_ir(seed);
    EXPECT_EQ(topological(ir), naive(ir, [](NodeId id) { return Rank{0, id, id}; })) << seed;
  }
}

TEST(IrOrder, IsByRankWhereOneIsGiven) {
  const auto rank = [](NodeId id) { return Rank{id % 2, -id / 4, id}; };
  for (unsigned seed = 0; seed < 30; ++seed) {
    const Ir ir = random_ir(seed);
    EXPECT_EQ(topological(ir, rank), naive(ir, rank)) << seed;
  }
}

TEST(IrOrder, StaysAsLongAsNothingIsCountedAsAChange) {
  Ir ir = random_ir(0);
  const std::size_t before = ir.changes();
  topological(ir);
  EXPECT_EQ(ir.changes(), before);
  ir.remove(3);
  const std::size_t removed = ir.changes();
  EXPECT_GT(removed, before);
  const NodeId added = ir.add_node({.op = op_kind("Made")}, {{}});
  const std::size_t grown = ir.changes();
  EXPECT_GT(grown, removed);
  ir.take_output(added, ir.node(0).outputs[0], 0);
  EXPECT_GT(ir.changes(), grown);
}

}  // namespace
}  // namespace belfry
