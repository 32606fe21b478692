#include "belfry/graph/gradients.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/matmul.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "tests/engine/ir_testing.h"

namespace belfry {
namespace {

using InferShapesTest = IrTest;

TEST_F(InferShapesTest, EveryShapeIsConcreteOnceTheFeedsAre) {
  const Tensor x = placeholder({"x", f32, {kAny, kAny}});
  const Variable w = var("w", {3, 5});
  const Tensor y = reduce_sum(matmul(x, w) + 1.f, {.axes = {0}});
  const Tensor g = gradients({y}, {x})[0];
  const Ir ir = shaped({.fetches = {y, g}, .feeds = {{x, {4, 3}}}});
  for (const IrValue& value : ir.values) EXPECT_TRUE(value.info.shape.is_concrete());
  for (const NodeId root : ir.roots) {
    const Shape wanted = ir.node(root).attributes.integer("index") == 0 ? Shape{5} : Shape{4, 3};
    EXPECT_EQ(ir.info(ir.node(root).inputs[0]).shape, wanted);
  }
}

TEST_F(InferShapesTest, UnknownDimensionsBroadcastOnceTheyAreKnown) {
  const Tensor a = placeholder({"a", f32, {kAny, 4}}), b = placeholder({"b", f32, {kAny, kAny}});
  const Tensor sum = a + b;
  EXPECT_EQ(sum.shape(), Shape({kAny, 4}));
  const Ir ir = shaped({.fetches = {sum}, .feeds = {{a, {1, 4}}, {b, {6, 1}}}});
  EXPECT_EQ(ir.info(ir.node(the(ir, "Add")).outputs[0]).shape, Shape({6, 4}));
}

TEST_F(InferShapesTest, AMismatchThatOnlyTheFeedsShowNamesTheOpAndItsLine) {
  const Tensor a = placeholder({"a", f32, {kAny}}), b = placeholder({"b", f32, {kAny}});
  const Tensor sum = add(a, b, "sum");
  const std::string line = "infer_shapes_test.cc:" + std::to_string(__LINE__ - 1);
  const std::string text = error_of([&] { shaped({.fetches = {sum}, .feeds = {{a, {2}}, {b, {3}}}}); });
  EXPECT_EQ(text,
            "[Add 'sum'] with the shapes fed in this run: expected dimensions that are equal or 1, got [2] and [3] (2 "
            "and 3 in dimension -1). Use reshape() or expand_dims() to say which ones belong together (made at " +
                line + ")");
}

TEST_F(InferShapesTest, ARuleThatStaysUnknownIsAnError) {
  static const OpRegistration vague = define_op("TestVague")
                                          .input("x")
                                          .output("y")
                                          .shape([](const ShapeContext&) { return Shape{kAny}; })
                                          .not_differentiable()
                                          .doc("Never says.");
  const Tensor y = add_tensor(vague, {var("x", {2})}, {.name = "vague"});
  EXPECT_NE(error_of([&] {
              shaped({.fetches = {y}});
            }).find("[TestVague 'vague'] expected a shape that is known once all inputs are, got [?]"),
            std::string::npos);
}

TEST_F(InferShapesTest, EmptyDimensionsAreShapesLikeOthers) {
  const Tensor x = placeholder({"x", f32, {kAny, 3}});
  const Ir ir = shaped({.fetches = {batch_flatten(exp(x))}, .feeds = {{x, {0, 3}}}});
  EXPECT_EQ(ir.info(ir.node(the(ir, "BatchFlatten")).outputs[0]).shape, Shape({0, 3}));
}

}  // namespace
}  // namespace belfry
