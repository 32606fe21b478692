#include "belfry/graph/gradients.h"

#include "belfry/ops/pointwise.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

class GradientsTest : public OpTest {};

TEST_F(GradientsTest, GradYsScaleWhatFlowsBackAndAnEmptyOneIsOnes) {
  const Tensor x = constant(Array::of<float>({2}, {1, 2})), a = square(x), b = x * 5.f;
  const Tensor weights = constant(Array::of<float>({2}, {10, 100}));
  EXPECT_EQ(floats(gradients({a}, {x}, {.grad_ys = {weights}})[0]), (std::vector<float>{20, 400}));
  EXPECT_EQ(floats(gradients({a, b}, {x}, {.grad_ys = {weights, Tensor()}})[0]), (std::vector<float>{25, 405}));
}

TEST_F(GradientsTest, OneCostTakesTensorsVariablesOrBothInBraces) {
  const Variable w = get_variable("w", {.initializer = [](const Shape&, DType) { return constant(3.f); }});
  const Tensor x = constant(2.f), cost = x * x * w;
  const Tensors xs{x};
  Session session(graph);
  session.initialize();
  EXPECT_EQ(session.run(gradients(cost, xs)[0]).item(), 12);
  EXPECT_EQ(session.run(gradients(cost, {x})[0]).item(), 12);
  EXPECT_EQ(session.run(gradients(cost, {w})[0]).item(), 4);
  const Tensors both = gradients(cost, {x, w});
  EXPECT_EQ(session.run(both[0]).item(), 12);
  EXPECT_EQ(session.run(both[1]).item(), 4);
}

TEST_F(GradientsTest, GradYsMayKnowLessOrMoreOfTheShape) {
  const Tensor x = placeholder(f32, {kAny, 2}), y = square(x);
  const Tensor whole = constant(Array::full(f32, {3, 2}, 1)), part = placeholder(f32, {3, kAny});
  EXPECT_TRUE(gradients({y}, {x}, {.grad_ys = {whole}})[0]);
  EXPECT_TRUE(gradients({y}, {x}, {.grad_ys = {part}})[0]);
}

TEST_F(GradientsTest, GradYsAreCheckedAgainstYs) {
  const Tensor x = constant(Array::full(f32, {2}, 1), "x"), y = square(x, "y");
  const auto text = [&](const Tensors& grad_ys) {
    return error_of([&] { gradients({y}, {x}, {.grad_ys = grad_ys}); });
  };
  const std::string at = "(at gradients_test.cc:" + std::to_string(__LINE__ - 2) + ").";
  EXPECT_EQ(text({x, x}), "[gradients] expected 1 grad_ys, one per y, got 2 " + at + " Omit them all for ones.");
  EXPECT_EQ(text({constant(Array::full(f32, {3}, 1), "three")}),
            "[gradients] expected grad_ys[0] of the shape and type of y 'y' f32 [2], got 'three' f32 [3] " + at);
  EXPECT_EQ(text({constant(1.f, "one")}),  // does not broadcast either
            "[gradients] expected grad_ys[0] of the shape and type of y 'y' f32 [2], got 'one' f32 [] " + at);
  EXPECT_EQ(text({constant(Array::full(f64, {2}, 1), "doubles")}),
            "[gradients] expected grad_ys[0] of the shape and type of y 'y' f32 [2], got 'doubles' f64 [2] " + at);
}

TEST_F(GradientsTest, EmptyHandlesAndIntegersAreRefusedWithTheLine) {
  const Tensor x = constant(1.f), whole = constant(1, "whole");
  const auto at = [](int line) { return "(at gradients_test.cc:" + std::to_string(line) + ")."; };
  const std::string test = " An unconnected gradient is empty: test it first.";
  EXPECT_EQ(error_of([&] { gradients({x, Tensor()}, {x}); }),
            "[gradients] expected tensors as ys, got an empty handle at index 1 " + at(__LINE__ - 1) + test);
  EXPECT_EQ(error_of([&] { gradients({x}, {Tensor()}); }),
            "[gradients] expected tensors as xs, got an empty handle at index 0 " + at(__LINE__ - 1) + test);
  EXPECT_EQ(error_of([&] { gradients({whole}, {x}); }),
            "[gradients] expected y of a float type, got 'whole' of i32 " + at(__LINE__ - 1) + " Use cast().");
}

}  // namespace
}  // namespace belfry
