#include "belfry/base/random.h"
#include "belfry/graph/gradients.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/batch_norm.h"
#include "belfry/ops/conv.h"
#include "belfry/ops/optimizer.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/pool.h"
#include "belfry/ops/reduce.h"
#include "tests/engine/ir_testing.h"

namespace belfry {
namespace {

Array noise_of(const Shape& shape, std::uint64_t seed) {
  RandomStream stream(seed);
  Array out(f32, shape);
  for (float& v : out.values<float>()) v = static_cast<float>(2 * stream.uniform() - 1);
  return out;
}

class AssignLayoutsTest : public IrTest {
 protected:
  Ir laid_out(const Request& request) {
    Ir ir = simplified(request);
    fuse(ir);
    order_variables(ir);
    assign_layouts(ir, store, {{1}});
    topological(ir);
    return ir;
  }
  Variable random_var(const std::string& name, const Shape& shape) {
    const Variable v = var(name.c_str(), shape);
    store.set(v.node(), noise_of(shape, seed_of(name)));
    return v;
  }
  static const Layout& output_layout(const Ir& ir, NodeId id, int output = 0) {
    return ir.info(ir.node(id).outputs[static_cast<std::size_t>(output)]).layout;
  }
  static const Layout& input_layout(const Ir& ir, NodeId id, int input = 0) {
    return ir.info(ir.node(id).inputs[static_cast<std::size_t>(input)]).layout;
  }

  VariableStore store;
};

// What the layout pass promises: everyone gets the layouts that its kernel can take.
void expect_consistent(const Ir& ir) {
  for (const IrNode& node : ir.nodes()) {
    if (node.dead || node.op == op_kind("Reorder") || node.op == op_kind("VariableCopy")) continue;
    const KernelDef* kernel = find_kernel(node.op);
    if (kernel != nullptr && kernel->layouts != KernelDef::Layouts::plain) continue;
    if (node.op == op_kind("Variable")) continue;
    for (ValueId v : node.inputs)
      EXPECT_TRUE(ir.is_op(v, op_kind("ShapeOnly")) || ir.info(v).layout.plain())
          << node.op.name() << " reads " << ir.info(v).layout.name();
    for (ValueId v : node.outputs) EXPECT_TRUE(ir.info(v).layout.plain()) << node.op.name();
  }
}

TEST_F(AssignLayoutsTest, AConvolutionsNeighboursTakeItsBlocks) {
  const Tensor x = placeholder({"x", f32, {2, 8, 8, 32}});
  const Tensor y = relu(conv2d(x, random_var("a", {3, 3, 32, 32}))),
               z = conv2d(tanh(y) * 2.f, random_var("b", {3, 3, 32, 32}));
  const Ir ir = laid_out({.fetches = {z}, .feeds = {{x, {2, 8, 8, 32}}}});
  expect_consistent(ir);
  EXPECT_EQ(count_of(ir, "Reorder"), 2) << "x goes into blocks, z comes out; nothing between";
  for (const IrNode& node : ir.nodes())
    EXPECT_TRUE(node.dead || node.op != op_kind("FusedPointwise") || !ir.info(node.outputs[0]).layout.plain());
}

TEST_F(AssignLayoutsTest, NormalisationByGivenStatisticsStaysInBlocks) {
  const Tensor x = placeholder({"x", f32, {2, 8, 8, 20}});
  const Tensor y = conv2d(x, random_var("a", {3, 3, 20, 20})), v = random_var("v", {20});
  const Tensor z = conv2d(relu(batch_norm_inference(y, {.gamma = v, .beta = v, .mean = v, .variance = square(v)})),
                          random_var("b", {3, 3, 20, 20}));
  const Ir ir = laid_out({.fetches = {z}, .feeds = {{x, {2, 8, 8, 20}}}});
  expect_consistent(ir);
  EXPECT_EQ(count_of(ir, "Reorder"), 2) << "x goes into blocks, z comes out; nothing between";
}

TEST_F(AssignLayoutsTest, PoolingStaysInBlocksWithAndWithoutGradients) {
  const Tensor x = placeholder({"x", f32, {2, 8, 8, 20}});
  const Variable a = random_var("a", {3, 3, 20, 20}), b = random_var("b", {3, 3, 20, 20});
  const Tensor y = conv2d(avg_pool2d(max_pool2d(conv2d(x, a))), b);
  const Ir forward = laid_out({.fetches = {y}, .feeds = {{x, {2, 8, 8, 20}}}});
  expect_consistent(forward);
  EXPECT_EQ(count_of(forward, "Reorder"), 2) << "x goes into blocks, y comes out; nothing between";
  const Tensor da = gradients({y}, {a.handle()})[0];
  const Ir backward = laid_out({.targets = {apply_sgd(a, 0.1f, da)}, .feeds = {{x, {2, 8, 8, 20}}}});
  for (const IrNode& node : backward.nodes())
    EXPECT_TRUE(node.dead || node.op != op_kind("Reorder") || backward.info(node.inputs[0]).layout.plain())
        << "only what was plain goes into blocks";
}

TEST_F(AssignLayoutsTest, PlainReadersOfABlockedValueShareOneReorder) {
  const Tensor x = placeholder({"x", f32, {2, 8, 8, 32}});
  const Tensor y = conv2d(x, random_var("a", {3, 3, 32, 32}));
  const Ir ir = laid_out({.fetches = {y, transpose(y), concat({y, y}, 0)}, .feeds = {{x, {2, 8, 8, 32}}}});
  expect_consistent(ir);
  EXPECT_EQ(count_of(ir, "Reorder"), 2);  // x into blocks, y out of them for all three
}

TEST_F(AssignLayoutsTest, OneInputOfTwoConvolutionsIsReorderedOnce) {
  const Tensor x = placeholder({"x", f32, {2, 8, 8, 32}});
  const Tensor a = conv2d(x, random_var("a", {3, 3, 32, 32})), b = conv2d(x, random_var("b", {1, 1, 32, 32}));
  const Ir ir = laid_out({.fetches = {a + b}, .feeds = {{x, {2, 8, 8, 32}}}});
  EXPECT_EQ(count_of(ir, "Reorder"), 2);
}

TEST_F(AssignLayoutsTest, AVariableLivesInTheLayoutOfItsConvolutionAndItsSlotsToo) {
  const Tensor x = placeholder({"x", f32, {2, 8, 8, 32}});
  const Variable w = random_var("w", {3, 3, 32, 32}), slot = random_var("slot", {3, 3, 32, 32});
  const Tensor dw = gradients({conv2d(x, w)}, {w.handle()})[0];
  const Ir ir = laid_out({.targets = {apply_momentum(w, slot, 0.1f, dw)}, .feeds = {{x, {2, 8, 8, 32}}}});
  expect_consistent(ir);
  const Layout& layout = store.storage(w.node()).info.layout;
  EXPECT_EQ(store.storage(slot.node()).info.layout, layout);
  const NodeId update = the(ir, "ApplyMomentum");
  EXPECT_EQ(input_layout(ir, update, 0), layout);
  EXPECT_EQ(input_layout(ir, update, 1), layout);
  EXPECT_EQ(input_layout(ir, update, 3), layout);
}

TEST_F(AssignLayoutsTest, TheSessionsLayoutIsDecidedOnceAndTrainingDecidesLast) {
  const Tensor x = placeholder({"x", f32, {2, 8, 8, 32}});
  const Variable w = random_var("w", {3, 3, 32, 32});
  const Array before = store.get(w.node());
  laid_out({.fetches = {exp(w)}});
  EXPECT_TRUE(store.storage(w.node()).info.layout.plain());  // no consumer had a preference
  const std::uint64_t generation = store.generation();
  laid_out({.fetches = {conv2d(x, w, {.strides = 2})}, .feeds = {{x, {2, 8, 8, 32}}}});
  EXPECT_FALSE(store.storage(w.node()).info.layout.plain());
  EXPECT_GT(store.generation(), generation) << "plans made before are out of date";
  EXPECT_TRUE(equal(store.get(w.node()), before)) << "the value goes along";
  const std::uint64_t decided = store.generation();
  laid_out({.fetches = {conv2d(x, w, {.strides = 2})}, .feeds = {{x, {2, 8, 8, 32}}}});
  EXPECT_EQ(store.generation(), decided);
}

TEST_F(AssignLayoutsTest, AnOpThatTakesAnyLayoutDoesNotDecideAVariables) {
  const Tensor x = placeholder({"x", f32, {2, 8, 8, 32}});
  const Variable w = random_var("w", {3, 3, 32, 32});
  const Tensor penalty = reduce_sum(square(w)), y = conv2d(x, w, {.strides = 2});  // the penalty is made first
  const Tensor cost = reduce_sum(y) + penalty;
  const Ir ir = laid_out(
      {.targets = {apply_sgd(w, 0.1f, gradients({cost}, {w.handle()})[0]), cost}, .feeds = {{x, {2, 8, 8, 32}}}});
  EXPECT_EQ(input_layout(ir, the(ir, "Conv2D"), 1), store.storage(w.node()).info.layout);
  EXPECT_FALSE(store.storage(w.node()).info.layout.plain());
  EXPECT_TRUE(store.storage(w.node()).copies.empty());
}

TEST_F(AssignLayoutsTest, ASecondLayoutIsACopyThatTheUpdateWrites) {
  const Tensor x = placeholder({"x", f32, {2, 6, 6, 32}});
  const Variable a = random_var("a", {3, 3, 32, 32}), b = random_var("b", {3, 3, 32, 32});
  const Tensor y = conv2d(conv2d(x, a, {.strides = 2}), b, {.strides = 2});  // strides: no Winograd
  const Tensors g = gradients({square(y)}, {a.handle(), b.handle()});
  const Request request{.targets = {apply_sgd(a, 0.1f, g[0]), apply_sgd(b, 0.1f, g[1])}, .feeds = {{x, {2, 6, 6, 32}}}};
  const Ir ir = laid_out(request);
  expect_consistent(ir);
  ASSERT_EQ(store.storage(b.node()).copies.size(), 1u) << "backward-data wants b in another layout";
  EXPECT_EQ(store.storage(a.node()).copies.size(), 0u);
  const NodeId update = made_from(ir, request.targets[1]);
  ASSERT_EQ(ir.node(update).outputs.size(), 2u) << "one pass writes both";
  EXPECT_EQ(ir.info(ir.node(update).outputs[1]).layout, store.storage(b.node()).copies[0].layout);
  EXPECT_EQ(ir.value(ir.node(update).outputs[1]).variable, b.node());
  EXPECT_EQ(ir.node(made_from(ir, request.targets[0])).outputs.size(), 1u);
  // The copy is read before the update.
  const NodeId backward = the(ir, "Conv2DBackpropInput");
  EXPECT_TRUE(comes_before(ir, backward, update));
}

TEST_F(AssignLayoutsTest, AnAssignmentRefreshesTheCopiesByAReorder) {
  const Tensor x = placeholder({"x", f32, {2, 6, 6, 32}});
  const Variable w = random_var("w", {3, 3, 32, 32});
  const Tensor y = conv2d(x, w, {.strides = 2});
  laid_out({.fetches = {gradients({y}, {x})[0]}, .feeds = {{x, {2, 6, 6, 32}}}});
  laid_out({.fetches = {y}, .feeds = {{x, {2, 6, 6, 32}}}});
  const std::size_t copies = store.storage(w.node()).copies.size();
  const Ir ir = laid_out({.targets = {w.assign(constant(Array::full(f32, {3, 3, 32, 32}, 1)))}});
  int refreshed = 0;
  for (NodeId id : ir.roots)
    if (ir.node(id).op == op_kind("Reorder")) {
      ++refreshed;
      EXPECT_TRUE(comes_before(ir, the(ir, "Assign"), id));
      EXPECT_EQ(ir.value(ir.node(id).outputs[0]).variable, w.node());
    }
  EXPECT_EQ(refreshed, static_cast<int>(copies));
}

TEST_F(AssignLayoutsTest, SumsOfGradientsAndAveragesOfWeightsLieAsTheWeightsDo) {
  const Tensor x = placeholder(f32, {2, 8, 8, 32});
  const Variable w = random_var("w", {3, 3, 32, 32}), sum = random_var("sum", w.shape()),
                 average = random_var("average", w.shape()), other = random_var("other", w.shape());
  const Tensor cost = reduce_sum(square(conv2d(x, w))), total = sum.assign_add(gradients(cost, {w})[0]);
  const Tensor update = apply_sgd(w, 0.1f, total * 0.5f);
  Tensor now;
  {
    const ControlDependencies after({update});
    now = w.read();
  }
  const Tensor moved = average.assign_sub((average - now) * 0.1f), alone = other.assign(other * 2.f);
  const Ir ir = laid_out({.targets = {update, moved, alone}, .feeds = {{x, {2, 8, 8, 32}}}});
  expect_consistent(ir);
  const Layout& layout = store.storage(w.node()).info.layout;
  EXPECT_FALSE(layout.plain());
  EXPECT_EQ(store.storage(sum.node()).info.layout, layout);
  EXPECT_EQ(store.storage(average.node()).info.layout, layout);
  EXPECT_TRUE(store.storage(other.node()).info.layout.plain());
  for (const char* op : {"AssignAdd", "ApplySgd", "AssignSub"})
    for (ValueId v : ir.node(the(ir, op)).inputs) EXPECT_FALSE(ir.is_op(v, op_kind("Reorder"))) << op;
}

}  // namespace
}  // namespace belfry
