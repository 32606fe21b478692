// What passes know of ops is what these declare: ops of this file's own are treated by their properties, and which of
// the library's ops have a property is a decision, listed here.
#include <set>
#include <thread>

#include "belfry/engine/cpu/kernel/layout_kinds.h"
#include "belfry/engine/engine_kinds.h"
#include "belfry/engine/flops.h"
#include "belfry/ops/broadcast.h"
#include "belfry/ops/pointwise.h"
#include "tests/engine/ir_testing.h"

namespace belfry {
namespace {

using OpPropertiesTest = IrTest;
using Names = std::set<std::string>;

Shapes first_shape(const ShapeContext& c) { return c.input(0); }

// The library's ops of which it is true.
Names ops_that(FunctionRef<bool(const OpDef&)> is) {
  Names out;
  for (const OpDef* op : registered_ops())
    if (!op->name.starts_with("Test") && is(*op)) out.insert(op->name);
  return out;
}
Names kernels_that(FunctionRef<bool(const KernelDef&)> is) {
  return ops_that([&](const OpDef& op) {
    const KernelDef* kernel = find_kernel(op.kind);
    return kernel != nullptr && is(*kernel);
  });
}

TEST_F(OpPropertiesTest, WhatGivesItsInputsIsNotComputed) {
  static const OpRegistration op = define_op("TestForwards")
                                       .inputs("x")
                                       .output("y")
                                       .shape([](const ShapeContext& c) { return Shapes{c.input(0), c.input(1)}; })
                                       .forwards()
                                       .not_differentiable()
                                       .doc("Its first two inputs.");
  const Tensor a = var("a", {2}), b = var("b", {3}), c = var("c", {4});
  Node* node = add_op(op, {a, b, c});
  const Ir ir = simplified({.fetches = {exp(node->output(0)), tanh(node->output(1))}});
  EXPECT_EQ(count_of(ir, "TestForwards"), 0);
  EXPECT_EQ(ir.value(ir.node(the(ir, "Exp")).inputs[0]).variable, a.node());
  EXPECT_EQ(ir.value(ir.node(the(ir, "Tanh")).inputs[0]).variable, b.node());
  EXPECT_EQ(count_of(ir, "Variable"), 2);
}

TEST_F(OpPropertiesTest, WhatGivesItsInputIfTheShapeIsTheSameIsComputedElsewhereOnly) {
  static const OpRegistration op =
      define_op("TestForwardsIfSame")
          .input("x")
          .output("y")
          .shape([](const ShapeContext& c) { return c.attributes().get<Shape>("shape"); })
          .forwards_if_same([](const Attributes& attributes) { return !attributes.flag("moves"); })
          .not_differentiable()
          .doc("x in some shape.");
  const Tensor x = var("x", {2, 2});
  const auto left = [&](const Shape& shape, bool moves) {
    const Tensor y = add_tensor(op, {x}, {.attributes = {{"shape", shape}, {"moves", moves}}});
    return count_of(simplified({.fetches = {y}}), "TestForwardsIfSame");
  };
  EXPECT_EQ(left({2, 2}, false), 0);
  EXPECT_EQ(left({4}, false), 1);
  EXPECT_EQ(left({2, 2}, true), 1);
}

TEST_F(OpPropertiesTest, ANeutralElementLeavesTheOtherOperand) {
  const auto define = [](const char* name) {
    return define_op(name).input("a").input("b").output("y").shape(first_shape).not_differentiable().doc("Of a, b.");
  };
  static const OpRegistration either = define("TestNeutral").neutral(5),
                              right = define("TestRightNeutral").right_neutral(5);
  const Tensor x = var("x", {3});
  const auto left = [&](OpRegistration op, const Operand& a, const Operand& b) {
    return count_of(simplified({.fetches = {add_tensor(op, {a, b})}}), op->name);
  };
  const Tensor five = constant(Array::full(f32, {3}, 5)), one = constant(Array::full(f32, {3}, 1));
  EXPECT_EQ(left(either, x, five), 0);
  EXPECT_EQ(left(either, five, x), 0);
  EXPECT_EQ(left(either, x, one), 1);
  EXPECT_EQ(left(right, x, five), 0);
  EXPECT_EQ(left(right, five, x), 1);
}

TEST_F(OpPropertiesTest, WhatIgnoresElementsIsAConstantOnceTheShapeIsKnown) {
  const Tensor x = var("x", {3});
  const Ir ir = simplified({.fetches = {add_tensor(find_op("OnesLike"), {x})}});
  EXPECT_EQ(ops_of(ir), (std::vector<std::string>{"Constant", "Fetch"}));
}

TEST_F(OpPropertiesTest, WhatIsEverywhereCrossesToNoOtherPart) {
  const Tensor one = constant(Array::full(f32, {3}, 1)), x = placeholder(f32, {3}), v = var("v", {3});
  const Tensor here = exp(one) + exp(x) + exp(v);
  Tensor there;
  {
    const DeviceScope device("cpu:1");
    there = tanh(one) + tanh(x) + tanh(v);
  }
  const Partition p = partition(pruned({.fetches = {here, there}, .feeds = {{x, {3}}}}, 2), {{}, {}});
  ASSERT_EQ(p.parts.size(), 2u);
  EXPECT_TRUE(p.crossings.empty());
  for (const Part& part : p.parts)
    for (const char* op : {"Constant", "Feed", "Variable"}) EXPECT_EQ(count_of(part.ir, op), 1) << op;
}

// A user's op that sets a variable is split into a computation and an assignment: only the kind says what that does.
TEST_F(OpPropertiesTest, AnUpdateIsKnownByItsKindWhateverItWasMadeFrom) {
  const Variable v = var("v", {3});
  const IrNode made{.op = op_kind("Assign"), .origin = v.node()};
  EXPECT_EQ(made.def(), nullptr);
  EXPECT_EQ(updated_inputs(made), std::vector<int>{0});
  const IrNode functional{.op = op_kind("AssignAdd"), .origin = v.node(), .functional = true};
  EXPECT_TRUE(updated_inputs(functional).empty());
  EXPECT_TRUE(updated_inputs({.op = op_kind("TestFused"), .origin = v.node()}).empty());
}

TEST_F(OpPropertiesTest, ANodeHasADefinitionWhileItIsWhatItsOriginIs) {
  const Tensor y = exp(var("x", {3}));
  IrNode node{.op = op_kind("Exp"), .origin = y.node()};
  EXPECT_EQ(node.def(), find_op("Exp"));
  node.op = op_kind("FusedPointwise");
  EXPECT_EQ(node.def(), nullptr);
}

TEST(OpPropertyTable, WhereValuesComeFrom) {
  EXPECT_EQ(ops_that([](const OpDef& op) { return op.variable; }), Names{"Variable"});
  EXPECT_EQ(ops_that([](const OpDef& op) { return op.must_be_fed; }), Names{"Placeholder"});
  EXPECT_EQ(ops_that([](const OpDef& op) { return op.taken; }), Names{"QueueTake"});
  EXPECT_EQ(ops_that([](const OpDef& op) { return op.standing; }), (Names{"Constant", "Variable"}));
  EXPECT_EQ(ops_that([](const OpDef& op) { return op.source; }), (Names{"Constant", "Variable"}));
  EXPECT_EQ(ops_that([](const OpDef& op) { return op.everywhere; }), (Names{"Constant", "Variable"}));
  EXPECT_EQ(ops_that([](const OpDef& op) { return op.silent; }), (Names{"Constant", "NoOp", "Variable"}));
  for (const char* op : {"Variable", "Placeholder", "QueueTake"}) EXPECT_TRUE(find_op(op)->stateful) << op;
}

TEST(OpPropertyTable, KindsOfTheEngine) {
  const auto properties = [](OpKind kind) {
    const OpDef& def = kind.definition();
    std::string out;
    if (def.standing) out += "standing ";
    if (def.source) out += "source ";
    if (def.everywhere) out += "everywhere ";
    if (def.silent) out += "silent ";
    if (def.side_effect) out += "effect ";
    return out;
  };
  EXPECT_EQ(properties(kFeed), "source everywhere ");
  EXPECT_EQ(properties(kReceive), "source silent effect ");
  EXPECT_EQ(properties(kShapeOnly), "standing source everywhere silent ");
  EXPECT_EQ(properties(kVariableCopy), "silent ");
  for (OpKind kind : {kFetch, kSend, kSnapshot, kReorder}) EXPECT_EQ(properties(kind), "") << kind.name();
  for (OpKind kind : {kFeed, kFetch, kReceive, kSend, kShapeOnly, kSnapshot, kReorder, kVariableCopy}) {
    EXPECT_EQ(kind, op_kind(kind.name()));
    EXPECT_EQ(find_op(kind.name()), nullptr) << kind.name();
  }
}

TEST(OpPropertyTable, WhatOpsGive) {
  EXPECT_EQ(ops_that([](const OpDef& op) { return op.forwards; }),
            (Names{"CustomGradient", "Identity", "PlaceholderWithDefault", "StopGradient"}));
  EXPECT_EQ(ops_that([](const OpDef& op) { return static_cast<bool>(op.forwards_if_same); }),
            (Names{"BroadcastLike", "Cast", "MatchSizes", "Reshape", "ReshapeLike", "SumToLike", "Transpose"}));
  EXPECT_EQ(ops_that([](const OpDef& op) { return op.ignores_elements; }), (Names{"OnesLike", "ZerosLike"}));
  EXPECT_EQ(ops_that([](const OpDef& op) { return op.neutral.has_value(); }), (Names{"Add", "Div", "Mul", "Sub"}));
  EXPECT_EQ(ops_that([](const OpDef& op) { return op.overwrites; }), Names{"Assign"});
  EXPECT_EQ(ops_that([](const OpDef& op) { return op.across_towers; }), Names{"CrossTowerSum"});
}

TEST(OpPropertyTable, WhatKernelsDo) {
  const Names updates = ops_that([](const OpDef& op) {
    return op.name.starts_with("Apply") && !op.name.ends_with("Rows") && !op.updates.empty();
  });
  EXPECT_GE(updates.size(), 8u);
  EXPECT_EQ(kernels_that([](const KernelDef& kernel) { return kernel.takes_weight_decay; }), updates);
  EXPECT_EQ(kernels_that([](const KernelDef& kernel) { return kernel.elementwise; }), Names{"ReadVariable"});
  for (const char* op : {"FusedPointwise", "Snapshot"}) EXPECT_TRUE(find_kernel(op_kind(op))->elementwise) << op;
  EXPECT_EQ(kernels_that([](const KernelDef& kernel) { return static_cast<bool>(kernel.flops); }),
            (Names{"Attention", "Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput", "Conv2DTranspose",
                   "GruSequence", "LstmSequence", "MatMul"}));
  for (const char* op : {"FusedConv", "FusedConvBackpropFilter", "FusedConvTranspose", "FusedMatMul", "MatMulGelu",
                         "MatMulScaled", "Reorder"})
    EXPECT_TRUE(static_cast<bool>(find_kernel(op_kind(op))->flops)) << op;
}

TEST(Flops, ProductsCountMultiplyAndAdd) {
  const Attributes none, transposed{{"transpose_a", true}};
  const Shape small{2, 4, 4, 3}, large{2, 8, 8, 5}, filter{3, 3, 3, 5};
  const double conv = 2. * (2 * 8 * 8 * 5) * (3 * 3 * 3);
  EXPECT_EQ(conv_flops({none, {small, filter}, {large}}), conv);
  EXPECT_EQ(conv_input_flops({none, {small, filter, large}, {small}}), conv);
  EXPECT_EQ(conv_filter_flops({none, {small, filter, large}, {filter}}), conv);
  EXPECT_EQ(conv_transpose_flops({none, {large, filter}, {small}}), conv);
  EXPECT_EQ(matmul_flops({none, {{4, 6}, {6, 5}}, {{4, 5}}}), 2 * 4 * 6 * 5);
  EXPECT_EQ(matmul_flops({transposed, {{6, 4}, {6, 5}}, {{4, 5}}}), 2 * 4 * 6 * 5);
  EXPECT_EQ(no_flops({none, {small}, {small}}), 0);
  EXPECT_EQ(flops_of(nullptr, {none, {small}, {small, {2}}}), 2 * 4 * 4 * 3);
}

TEST(OpKindThreads, WhoeverMeetsANameFirstAllGetOneKind) {
  constexpr int kThreads = 8, kNames = 200;
  std::vector<std::vector<OpKind>> found(kThreads);
  std::vector<std::jthread> threads;
  for (std::vector<OpKind>& mine : found)
    threads.emplace_back([&mine] {
      for (int i = 0; i < kNames; ++i) mine.push_back(op_kind("TestRaced" + std::to_string(i)));
    });
  threads.clear();
  for (const std::vector<OpKind>& other : found) EXPECT_EQ(other, found[0]);
  EXPECT_EQ(std::set<OpKind>(found[0].begin(), found[0].end()).size(), std::size_t{kNames});
}

// The engine orders readers of a variable through what keeps its elements; the CPU gives such ops no memory of their
// own.
TEST_F(OpPropertiesTest, WhatKeepsTheElementsIsAViewOnTheCpu) {
  EXPECT_EQ(kernels_that([](const KernelDef& kernel) { return kernel.view; }),
            ops_that([](const OpDef& op) { return op.keeps_elements; }));
}

}  // namespace
}  // namespace belfry
