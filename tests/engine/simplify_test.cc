#include "belfry/graph/gradients.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/check_numerics.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/random.h"
#include "belfry/ops/reduce.h"
#include "tests/engine/ir_testing.h"

namespace belfry {
namespace {

using SimplifyTest = IrTest;
using Names = std::vector<std::string>;

TEST_F(SimplifyTest, ConstantsAreComputedOnce) {
  const Tensor y = var("x", {2}) + exp(constant(0.f)) * 3.f;
  const Ir ir = simplified({.fetches = {y}});
  EXPECT_EQ(ops_of(ir), (Names{"Add", "Constant", "Fetch", "Variable"}));
  EXPECT_EQ(ir.node(the(ir, "Constant")).attributes.get<Array>("value").item(), 3);
}

TEST_F(SimplifyTest, AFoldedResultIsNotTooLargeToKeep) {
  const Tensor big = constant(Array::zeros(f32, {2048, 1024})), y = big + 1.f;
  EXPECT_EQ(count_of(simplified({.fetches = {y}}), "Add"), 1);
}

TEST_F(SimplifyTest, TheGradientOfConcatNeedsOnlyTheShapesOfWhatWasJoined) {
  const Tensor a = placeholder(f32, {kAny, 2}), b = placeholder(f32, {kAny, 2});
  const Tensor joined = concat({exp(a), tanh(b), exp(b)}, 0), dy = placeholder(f32, {kAny, 2});
  const Tensor last = joined.node()->inputs[2];
  const Tensor d = gradients({joined}, {last}, {.grad_ys = {dy}})[0];
  ASSERT_EQ(d.node()->def->name, "ConcatGrad");
  const Ir ir = simplified({.fetches = {d}, .feeds = {{a, {1, 2}}, {b, {3, 2}}, {dy, {7, 2}}}});
  EXPECT_EQ(count_of(ir, "Exp") + count_of(ir, "Tanh"), 0);
  for (int i : {1, 2, 3})
    EXPECT_EQ(ir.op_of(ir.node(the(ir, "ConcatGrad")).inputs[static_cast<std::size_t>(i)]).name(), "ShapeOnly");
}

TEST_F(SimplifyTest, EqualOpsOnEqualInputsAreOne) {
  const Tensor x = var("x", {2}), z = var("z", {2});
  const Tensor y = exp(x) + exp(x) * exp(z);
  const Ir ir = simplified({.fetches = {y}});
  EXPECT_EQ(count_of(ir, "Exp"), 2);
  EXPECT_EQ(ir.node(the(ir, "Add")).inputs[0], ir.node(the(ir, "Mul")).inputs[0]);
}

TEST_F(SimplifyTest, OpsThatDifferInAnAttributeOrDeviceStayApart) {
  const Tensor x = var("x", {2, 3});
  const Tensor sums = reduce_sum(x, {.axes = {0}, .keep_dims = true}) + reduce_sum(x, {.axes = {1}, .keep_dims = true});
  EXPECT_EQ(count_of(simplified({.fetches = {sums}}), "ReduceSum"), 2);
  const Tensor here = exp(x);
  Tensor there;
  {
    const DeviceScope device("cpu:1");
    there = exp(x);
  }
  EXPECT_EQ(count_of(simplified({.fetches = {here, there}}, 2), "Exp"), 2);
}

TEST_F(SimplifyTest, OutputsOfAMergedOpAreAllReplaced) {
  const Tensor x = var("x", {4});
  const Tensors a = split(x, 2, 0), b = split(x, 2, 0);
  const Ir ir = simplified({.fetches = {a[0] * b[1]}});
  const NodeId split = the(ir, "Split"), product = the(ir, "Mul");
  EXPECT_EQ(ir.node(product).inputs, ir.node(split).outputs);
}

TEST_F(SimplifyTest, RandomOpsAreNeverMergedOrFolded) {
  const Tensor a = random_uniform({3}), b = random_uniform({3});
  EXPECT_EQ(count_of(simplified({.fetches = {a + b}}), "RandomUniform"), 2);
  const Tensor ones = constant(Array::full(f32, {3}, 1));
  EXPECT_EQ(count_of(simplified({.fetches = {dropout(ones, 0.5) + dropout(ones, 0.5)}}), "Dropout"), 2);
}

TEST_F(SimplifyTest, NeutralOperandsVanish) {
  const Tensor x = var("x", {2});
  for (const Tensor& y : {x * 1.f, 1.f * x, x + 0.f, 0.f + x, x - 0.f, x / 1.f})
    EXPECT_EQ(ops_of(simplified({.fetches = {y}})), (Names{"Fetch", "Variable"}));
  EXPECT_EQ(count_of(simplified({.fetches = {0.f - x}}), "Sub"), 1);
  EXPECT_EQ(count_of(simplified({.fetches = {1.f / x}}), "Div"), 1);
}

TEST_F(SimplifyTest, ANeutralOperandThatBroadcastsStays) {
  const Tensor x = var("x", {1, 3});
  const Tensor y = x + constant(Array::zeros(f32, {2, 3}));
  EXPECT_EQ(count_of(simplified({.fetches = {y}}), "Add"), 1);
}

TEST_F(SimplifyTest, IdentitiesAndShapesThatChangeNothingVanish) {
  const Tensor x = var("x", {2, 3});
  const Tensor y = exp(reshape(transpose(identity(stop_gradient(x)), {0, 1}), {2, 3}));
  EXPECT_EQ(ops_of(simplified({.fetches = {y}})), (Names{"Exp", "Fetch", "Variable"}));
  EXPECT_EQ(count_of(simplified({.fetches = {transpose(x)}}), "Transpose"), 1);
  EXPECT_EQ(count_of(simplified({.fetches = {reshape(x, {3, 2})}}), "Reshape"), 1);
}

TEST_F(SimplifyTest, AShapeIsNoReasonToComputeATensor) {
  const Tensor x = var("x", {2, 3}), ones = ones_like(exp(x));
  EXPECT_EQ(ops_of(simplified({.fetches = {ones}})), (Names{"Constant", "Fetch"}));
  const Tensor b = var("b", {3});
  const Tensor db = gradients({exp(x) + b}, {b})[0];  // a sum over rows of ones
  EXPECT_EQ(count_of(simplified({.fetches = {db}}), "Exp"), 0);
}

TEST_F(SimplifyTest, DeadGradientsAreDropped) {
  const Variable w = var("w", {2}), b = var("b", {2});
  const Tensors g = gradients({square(w) * exp(b)}, {w.handle(), b.handle()});
  const Ir ir = simplified({.fetches = {g[0]}});
  for (const IrNode& node : ir.nodes()) EXPECT_TRUE(node.dead || node.origin != g[1].node());
}

// with ControlDependencies({step}): loss = identity(loss): the loss of a step that has been done.
TEST_F(SimplifyTest, AnIdentityUnderAControlDependencyKeepsTheOrder) {
  const Variable v = var("v", {});
  const Tensor next = v.assign_add(1.f), x = exp(var("x", {}));
  Tensor after, later;
  {
    const ControlDependencies control({next});
    after = identity(x);
    later = x * 1.f;
  }
  for (const Tensor& y : {after, later, tanh(after)}) {
    const Ir ir = simplified({.fetches = {y}});
    EXPECT_EQ(count_of(ir, "Identity"), 0);
    ASSERT_EQ(count_of(ir, "AssignAdd"), 1) << y.name();
    EXPECT_TRUE(comes_before(ir, the(ir, "AssignAdd"), ir.roots[0])) << y.name();
  }
}

TEST_F(SimplifyTest, AConstantUnderAControlDependencyOrdersWhatIsMadeFromItAndNothingElse) {
  const Variable v = var("v", {});
  const Tensor next = v.assign_add(1.f), x = var("x", {});
  Tensor one, two;
  {
    const ControlDependencies control({next});
    one = constant(1.f);
    two = constant(2.f);
  }
  for (const Tensor& y : {exp(two), x * one, tanh(exp(two) * 3.f)}) {
    const Ir ir = simplified({.fetches = {y}});
    ASSERT_EQ(count_of(ir, "AssignAdd"), 1) << y.name();
    EXPECT_TRUE(comes_before(ir, the(ir, "AssignAdd"), ir.roots[0])) << y.name();
  }
  const Tensor free = x * 2.f;
  const Ir ir = simplified({.fetches = {free, exp(x * two)}});
  EXPECT_FALSE(comes_before(ir, the(ir, "AssignAdd"), made_from(ir, free))) << "an equal constant is not the same one";
}

TEST_F(SimplifyTest, ATargetThatVanishesLeavesWhatItWaitedFor) {
  const Variable v = var("v", {});
  const Tensor next = v.assign_add(1.f);
  const Tensor same = identity(next);
  Tensor after;
  {
    const ControlDependencies control({next});
    after = identity(constant(1.f));
  }
  for (const Tensor& target : {same, after}) EXPECT_EQ(count_of(simplified({.targets = {target}}), "AssignAdd"), 1);
}

TEST_F(SimplifyTest, WaitingForAPureOpMeansWaitingForTheEffectsBehindIt) {
  const Variable v = var("v", {});
  const Tensor doubled = v.assign_add(1.f) * 2.f;
  const Operation step = group({doubled});
  EXPECT_EQ(count_of(simplified({.targets = {step}}), "AssignAdd"), 1);
  Tensor y;
  {
    const ControlDependencies control({doubled});
    y = exp(var("x", {}));
  }
  const Ir ir = simplified({.fetches = {y}});
  ASSERT_EQ(count_of(ir, "AssignAdd"), 1);
  EXPECT_TRUE(comes_before(ir, the(ir, "AssignAdd"), the(ir, "Exp")));
}

TEST_F(SimplifyTest, WaitingForAPureOpAloneDoesNotComputeIt) {
  const Tensor pure = exp(var("x", {}));
  const ControlDependencies control({pure});
  EXPECT_EQ(count_of(simplified({.fetches = {tanh(var("y", {}))}}), "Exp"), 0);
}

TEST_F(SimplifyTest, ACheckThatSomethingWaitsForIsMade) {
  const Tensor checked = check_numerics(exp(var("x", {})), "x");
  Tensor y;
  {
    const ControlDependencies control({checked});
    y = tanh(var("z", {}));
  }
  const Ir ir = simplified({.fetches = {y}});
  ASSERT_EQ(count_of(ir, "CheckNumerics"), 1);
  EXPECT_TRUE(comes_before(ir, the(ir, "CheckNumerics"), the(ir, "Tanh")));
}

}  // namespace
}  // namespace belfry
