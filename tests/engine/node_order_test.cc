#include "belfry/engine/node_order.h"

#include <gtest/gtest.h>

#include "belfry/base/random.h"
#include "tests/support/errors.h"

namespace belfry {
namespace {

// Nodes without values, and ordering edges between them.
Ir nodes_after(const std::vector<std::vector<NodeId>>& after) {
  Ir ir;
  for (const std::vector<NodeId>& before : after) ir.add_node({.op = op_kind("NoOp"), .after = before}, {});
  return ir;
}

// By walking back along the edges.
bool comes_after(const Ir& ir, NodeId from, NodeId to) {
  for (NodeId before : ir.node(to).after)
    if (before == from || comes_after(ir, from, before)) return true;
  return false;
}

constexpr auto none = [](NodeId) { return false; };

TEST(NodeOrder, KnowsPathsOfOneEdgeOrMore) {
  const Ir ir = nodes_after({{}, {0}, {1}, {0}});
  const NodeOrder order(ir, none);
  EXPECT_TRUE(order.reaches(0, 1));
  EXPECT_TRUE(order.reaches(0, 2));
  EXPECT_FALSE(order.reaches(3, 2));
  EXPECT_FALSE(order.reaches(2, 0));
  EXPECT_FALSE(order.reaches(1, 1));
}

TEST(NodeOrder, FollowsValuesAndLeavesOutTheDead) {
  Ir ir;
  const NodeId made = ir.add_node({.op = op_kind("Made")}, {{}});
  ir.add_node({.op = op_kind("Read"), .inputs = {ir.node(made).outputs[0]}}, {});
  ir.add_node({.op = op_kind("Gone"), .after = {made}, .dead = true}, {});
  ir.add_node({.op = op_kind("Later"), .after = {2}}, {});
  const NodeOrder order(ir, none);
  EXPECT_TRUE(order.reaches(made, 1));
  EXPECT_FALSE(order.reaches(made, 3)) << "through a node that is dead";
}

void put_after(Ir& ir, NodeOrder& order, NodeId to, NodeId from) {
  ir.change(to, [&](IrNode& node) { node.after.push_back(from); });
  order.added_edge(from, to);
}

TEST(NodeOrder, ANewNodeTakesItsPlaceByItsEdges) {
  Ir ir = nodes_after({{}, {}});
  NodeOrder order(ir, none);
  order.added_node(ir.add_node({.op = op_kind("NoOp")}, {}));
  put_after(ir, order, 2, 1);
  put_after(ir, order, 0, 2);
  EXPECT_TRUE(order.reaches(1, 0));
  EXPECT_FALSE(order.reaches(0, 1));
  EXPECT_EQ(order.nodes(), (std::vector<NodeId>{1, 2, 0}));
}

// What is late or not changes places, never answers.
TEST(NodeOrder, AgreesWithAWalkWhateverIsAdded) {
  constexpr NodeId kNodes = 24;
  RandomStream random(3);
  const auto draw = [&] { return static_cast<NodeId>(random.below(kNodes)); };
  for (int round = 0; round < 50; ++round) {
    Ir ir = nodes_after(std::vector<std::vector<NodeId>>(kNodes));
    NodeOrder order(ir, [&](NodeId id) { return (id + round) % 3 == 0; });
    for (int k = 0; k < 60; ++k) {
      const NodeId from = draw(), to = draw();
      ASSERT_EQ(order.reaches(from, to), from != to && comes_after(ir, from, to)) << from << " to " << to;
      if (from == to || comes_after(ir, to, from)) continue;
      put_after(ir, order, to, from);
    }
  }
}

TEST(NodeOrder, ACircleIsABug) {
  Ir ir = nodes_after({{}, {0}, {1}});
  NodeOrder order(ir, none);
  EXPECT_NE(error_of([&] { put_after(ir, order, 0, 2); }).find("closes a cycle"), std::string::npos);
}

}  // namespace
}  // namespace belfry
