// Who reads a value and who waits for a node, whatever is changed.
#include <gtest/gtest.h>

#include "belfry/engine/ir.h"

namespace belfry {
namespace {

using Ids = std::vector<NodeId>;

class IrReadersTest : public testing::Test {
 protected:
  NodeId add(const std::vector<ValueId>& inputs, const Ids& after = {}) {
    return ir.add_node({.op = op_kind("Made"), .inputs = inputs, .after = after}, {{}});
  }
  ValueId out(NodeId id) const { return ir.node(id).outputs[0]; }
  Ir ir;
};

TEST_F(IrReadersTest, ANodeThatReadsAValueTwiceStandsTwice) {
  const NodeId a = add({}), b = add({out(a), out(a)}), c = add({out(a)}, {b});
  EXPECT_EQ(ir.readers(out(a)), (Ids{b, b, c}));
  EXPECT_EQ(ir.followers(b), Ids{c});
  EXPECT_TRUE(ir.readers(out(c)).empty());
}

TEST_F(IrReadersTest, FollowChangesAndRemovals) {
  const NodeId a = add({}), b = add({}), c = add({out(a)}), d = add({out(a)}, {c});
  ir.change(d, [&](IrNode& node) {
    node.inputs = {out(b)};
    node.after = {b};
  });
  EXPECT_EQ(ir.readers(out(a)), Ids{c});
  EXPECT_EQ(ir.readers(out(b)), Ids{d});
  EXPECT_TRUE(ir.followers(c).empty());
  EXPECT_EQ(ir.followers(b), Ids{d});
  ir.remove(d);
  ir.remove(d);  // is dead already
  EXPECT_TRUE(ir.readers(out(b)).empty());
  EXPECT_TRUE(ir.followers(b).empty());
  replace_uses(ir, out(a), out(b));
  EXPECT_EQ(ir.readers(out(b)), Ids{c});
  EXPECT_EQ(ir.node(c).inputs, std::vector<ValueId>{out(b)});
}

TEST_F(IrReadersTest, WhatWaitedForABypassedNodeWaitsForWhatItWaitedFor) {
  const NodeId a = add({}), before = add({}), gone = add({out(a)}, {before}), reader = add({out(gone)}),
               waiting = add({}, {gone});
  bypass(ir, gone, {out(a)});
  EXPECT_EQ(ir.node(reader).inputs, std::vector<ValueId>{out(a)});
  EXPECT_EQ(ir.node(reader).after, Ids{before});
  EXPECT_EQ(ir.node(waiting).after, (Ids{before, a}));
  EXPECT_EQ(ir.readers(out(a)), Ids{reader});
  EXPECT_EQ(ir.followers(before), (Ids{reader, waiting}));
  EXPECT_TRUE(ir.followers(gone).empty());
}

TEST_F(IrReadersTest, HaveTheNewNumbersAfterAReordering) {
  const NodeId a = add({}), b = add({out(a)}), c = add({out(a)}, {b});
  const ValueId value = out(a);
  ir.reorder({a, c, b});
  EXPECT_EQ(ir.readers(value), (Ids{1, 2}));
  EXPECT_EQ(ir.followers(2), Ids{1});
}

}  // namespace
}  // namespace belfry
