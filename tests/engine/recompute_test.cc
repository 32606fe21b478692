#include "belfry/graph/recompute.h"

#include "belfry/graph/gradients.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/control_flow.h"
#include "belfry/ops/matmul.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/print.h"
#include "belfry/ops/random.h"
#include "belfry/ops/reduce.h"
#include "tests/engine/ir_testing.h"

namespace belfry {
namespace {

class RecomputePassTest : public IrTest {
 protected:
  // Without fusion, so that the ops are those of the graph.
  Ir recomputed(const Request& request) const {
    Ir ir = simplified(request);
    recompute(ir);
    return ir;
  }
  static int copies_of(const Ir& ir, std::string_view op) {
    return static_cast<int>(std::ranges::count_if(
        ir.nodes(), [&](const IrNode& node) { return !node.dead && node.copy_of != kNone && node.op == op_kind(op); }));
  }
  // The copy of what an operation of the graph became.
  static NodeId copy_of(const Ir& ir, const Operation& operation) {
    const NodeId original = made_from(ir, operation);
    for (NodeId id = 0; id < static_cast<NodeId>(ir.nodes().size()); ++id)
      if (!ir.node(id).dead && ir.node(id).copy_of == original) return id;
    return kNone;
  }

  const Shape shape{8, 8};
};

TEST_F(RecomputePassTest, GradientsReadCopiesWhichReadWhatEntersTheSegment) {
  const Variable w = var("w", shape);
  const Tensor x = exp(w);
  Tensor a, b;
  {
    const RecomputeScope segment;
    a = tanh(x);
    b = sigmoid(a);
  }
  const Tensor y = reduce_sum(square(b)), g = gradients(y, {w})[0];
  const Ir ir = recomputed({.fetches = {y, g}});
  EXPECT_EQ(copies_of(ir, "Tanh"), 1);
  // The output is read by square's gradient outside: it is kept, and sigmoid need not run again.
  EXPECT_EQ(copies_of(ir, "Sigmoid"), 0);
  EXPECT_EQ(copies_of(ir, "Exp"), 0);
  const NodeId copy = copy_of(ir, a), original = made_from(ir, a);
  ASSERT_NE(copy, kNone);
  EXPECT_EQ(ir.node(copy).inputs, ir.node(original).inputs);
  EXPECT_EQ(ir.readers(ir.node(original).outputs[0]), std::vector<NodeId>{made_from(ir, b)});
}

TEST_F(RecomputePassTest, ACopyRunsWhenTheGradientHasComeToIt) {
  Tensor y = var("x", shape);
  const Variable w = var("w", shape);
  Tensors made;
  for (int k = 0; k < 3; ++k) {
    const RecomputeScope segment;
    made.push_back(tanh(matmul(y, w)));
    y = tanh(matmul(made.back(), w));
  }
  const Tensor cost = reduce_sum(square(y)), g = gradients(cost, {w})[0];
  const Ir ir = recomputed({.fetches = {cost, g}});
  const std::vector<NodeId> order = schedule(ir);
  int last = position(order, made_from(ir, cost));
  for (int k = 2; k >= 0; --k) {  // the last segment's first
    const NodeId copy = copy_of(ir, made[static_cast<std::size_t>(k)]);
    ASSERT_NE(copy, kNone) << k;
    EXPECT_LT(last, position(order, copy)) << k;
    last = position(order, copy);
  }
}

TEST_F(RecomputePassTest, SmallValuesAreKept) {
  const Variable w = var("w", {64, 64});
  Tensor y;
  {
    const RecomputeScope segment;
    const Tensor row = exp(reduce_sum(tanh(w), {.axes = {0}}));  // 64 numbers, 1/64 of the segment's largest value
    y = w * row;
  }
  const Tensor g = gradients(reduce_sum(y), {w})[0];
  const Ir ir = recomputed({.fetches = {y, g}});
  EXPECT_EQ(copies_of(ir, "Exp"), 0);
  EXPECT_EQ(copies_of(ir, "ReduceSum"), 0);
  EXPECT_EQ(copies_of(ir, "Tanh"), 1);  // its own gradient reads it
}

TEST_F(RecomputePassTest, EffectsAndWhatHoldsThemAreNotCopied) {
  const Variable w = var("w", shape);
  Tensor y;
  {
    const RecomputeScope segment;
    y = exp(print(exp(w), "a"));
    const Tensor t = tanh(y);
    y = cond(greater(reduce_sum(w), 0.f), [&] { return Tensors{print(t, "b")}; }, [&] { return Tensors{t}; })[0];
    y = tanh(y * y);
  }
  const Tensor g = gradients(reduce_sum(y), {w})[0];
  const Ir ir = recomputed({.fetches = {y, g}});
  EXPECT_EQ(copies_of(ir, "Print"), 0);
  EXPECT_EQ(copies_of(ir, "Cond"), 0);
  EXPECT_EQ(copies_of(ir, "Tanh"), 2);
}

TEST_F(RecomputePassTest, ARandomOpIsCopiedWithItsSeed) {
  const Variable w = var("w", shape);
  Tensor y;
  {
    const RecomputeScope segment;
    y = tanh(w * random_uniform(shape));
  }
  const Tensor g = gradients(reduce_sum(y * 2.f), {w})[0];
  const Ir ir = recomputed({.fetches = {y, g}});
  ASSERT_EQ(copies_of(ir, "RandomUniform"), 1);
  std::vector<std::int64_t> seeds;
  for (const IrNode& node : ir.nodes())
    if (!node.dead && node.op == op_kind("RandomUniform")) seeds.push_back(node.attributes.integer("seed"));
  ASSERT_EQ(seeds.size(), 2u);
  EXPECT_EQ(seeds[0], seeds[1]);
}

TEST_F(RecomputePassTest, EachPassOfGradientsHasCopiesOfItsOwn) {
  const Variable w = var("w", shape);
  Tensor a, y;
  {
    const RecomputeScope segment;
    a = tanh(w);
    y = exp(a * a);
  }
  const Tensor first = gradients(reduce_sum(y), {w})[0], second = gradients(reduce_sum(square(y)), {w})[0];
  const Ir ir = recomputed({.fetches = {y, first, second}});
  EXPECT_EQ(copies_of(ir, "Tanh"), 2);
}

TEST_F(RecomputePassTest, WhatOnlyGradientsReadIsMovedNotCopied) {
  const Variable w = var("w", shape);
  Tensor y;
  {
    const RecomputeScope segment;
    y = exp(tanh(w));
  }
  const Tensor g = gradients(reduce_sum(y), {w})[0];
  const Ir ir = recomputed({.fetches = {g}});
  EXPECT_EQ(count_of(ir, "Tanh"), 1);
  EXPECT_EQ(count_of(ir, "Exp"), 1);
  EXPECT_EQ(copies_of(ir, "Tanh") + copies_of(ir, "Exp"), 0);
}

TEST_F(RecomputePassTest, UnmarkedGraphsStayAsTheyAre) {
  const Variable w = var("w", shape);
  const Tensor g = gradients(reduce_sum(exp(tanh(w))), {w})[0];
  Ir ir = simplified({.fetches = {g}});
  const std::size_t nodes = ir.nodes().size();
  recompute(ir);
  EXPECT_EQ(ir.nodes().size(), nodes);
}

TEST_F(RecomputePassTest, TheArenaWithoutItIsThatOfAnUnmarkedGraph) {
  const auto arena = [&](bool marked) {
    Graph own;
    const GraphScope inside(own);
    const Variable x = var("x", shape), w = var("w", shape);
    Tensor y = x;
    for (int k = 0; k < 6; ++k) {
      std::unique_ptr<RecomputeScope> segment;
      if (marked) segment = std::make_unique<RecomputeScope>();
      for (int i = 0; i < 4; ++i) y = tanh(matmul(y, w));
    }
    const Tensor cost = reduce_sum(square(y)), g = gradients(cost, {x})[0];
    Ir ir = prune(signature_of({.fetches = {cost, g}}), cpu_infos(1));
    infer_shapes(ir);
    simplify(ir);
    recompute(ir);
    const std::vector<std::size_t> scratch(ir.nodes().size(), 0);
    return std::pair(plan_memory(ir, schedule(ir), scratch).arena_bytes, arena_without_recompute(ir, scratch));
  };
  const auto [with, without] = arena(true);
  const auto [plain, same] = arena(false);
  EXPECT_EQ(plain, same);
  EXPECT_EQ(without, plain);
  EXPECT_LT(2 * with, without);
}

}  // namespace
}  // namespace belfry
