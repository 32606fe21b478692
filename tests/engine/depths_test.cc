#include "belfry/engine/depths.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "belfry/base/random.h"
#include "belfry/engine/ir.h"

namespace belfry {
namespace {

// A node with one output, which reads those of `inputs` and waits for `after`.
NodeId add(Ir& ir, const std::vector<NodeId>& inputs, const std::vector<NodeId>& after = {}) {
  IrNode node{.op = op_kind("Made"), .after = after};
  for (NodeId input : inputs) node.inputs.push_back(ir.node(input).outputs[0]);
  return ir.add_node(std::move(node), {{}});
}

bool depends(const Ir& ir, NodeId value_of, NodeId on) { return ir.depends_on(ir.node(value_of).outputs[0], on); }

// By walking back along all edges.
bool walks_to(const Ir& ir, NodeId from, NodeId to) {
  if (from == to) return true;
  for (ValueId v : ir.node(from).inputs)
    if (walks_to(ir, ir.producer(v), to)) return true;
  return std::ranges::any_of(ir.node(from).after, [&](NodeId before) { return walks_to(ir, before, to); });
}

void expect_as_walked(const Ir& ir) {
  std::vector<NodeId> alive;
  for (NodeId id = 0; id < static_cast<NodeId>(ir.nodes().size()); ++id)
    if (!ir.node(id).dead) alive.push_back(id);
  for (NodeId a : alive)
    for (NodeId b : alive) ASSERT_EQ(depends(ir, a, b), walks_to(ir, a, b)) << a << " on " << b;
}

TEST(Depths, FollowValuesAndOrderingEdges) {
  Ir ir;
  const NodeId first = add(ir, {}), reader = add(ir, {first}), waits = add(ir, {}, {reader}), apart = add(ir, {first});
  EXPECT_TRUE(depends(ir, reader, first));
  EXPECT_TRUE(depends(ir, waits, first));
  EXPECT_TRUE(depends(ir, first, first));
  EXPECT_FALSE(depends(ir, first, reader));
  EXPECT_FALSE(depends(ir, apart, reader));
}

TEST(Depths, AnInputFromALaterNodeMovesAllThatComesAfter) {
  Ir ir;
  const NodeId a = add(ir, {}), b = add(ir, {a}), c = add(ir, {b});
  ASSERT_TRUE(depends(ir, c, a));  // asked once, so that there is something to keep right
  const NodeId late = add(ir, {add(ir, {add(ir, {})})});
  EXPECT_FALSE(depends(ir, c, late));
  ir.change(a, [&](IrNode& node) { node.inputs.push_back(ir.node(late).outputs[0]); });
  EXPECT_TRUE(depends(ir, c, late));
  expect_as_walked(ir);
}

TEST(Depths, AnOutputThatAnotherNodeMakesCounts) {
  Ir ir;
  const NodeId a = add(ir, {}), reader = add(ir, {a}), deep = add(ir, {add(ir, {add(ir, {})})});
  EXPECT_FALSE(depends(ir, reader, deep));
  ir.take_output(deep, ir.node(a).outputs[0], 1);
  ir.remove(a);
  EXPECT_TRUE(depends(ir, reader, deep));
}

TEST(Depths, HoldWhenNodesGetNewNumbers) {
  Ir ir;
  const NodeId a = add(ir, {}), b = add(ir, {a}), c = add(ir, {b});
  EXPECT_TRUE(depends(ir, c, a));
  ir.reorder({c, a, b});
  expect_as_walked(ir);
}

TEST(Depths, AgreeWithAWalkAfterAnyChange) {
  RandomStream random(7);
  Ir ir;
  for (int round = 0; round < 40; ++round) {
    const auto any = [&] { return static_cast<NodeId>(random.below(ir.nodes().size())); };
    if (ir.nodes().size() < 4 || round % 3 == 0) {
      add(ir, ir.nodes().empty() ? std::vector<NodeId>{} : std::vector<NodeId>{any()});
    } else {
      const NodeId to = any(), from = any();
      if (!walks_to(ir, from, to))
        ir.change(to, [&](IrNode& node) {
          if (round % 2 == 0) node.after.push_back(from);
          if (round % 2 == 1) node.inputs.push_back(ir.node(from).outputs[0]);
        });
    }
    expect_as_walked(ir);
  }
}

}  // namespace
}  // namespace belfry
