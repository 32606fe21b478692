#include "belfry/ops/basic.h"

#include "belfry/ops/pointwise.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;

const bool rows[] = {
    gradient_row("Identity", {"Identity"}, [](X x) { return square(identity(x[0])); }, {{{2, 3}}, {{}}, {{0}}}),
    // To f32 and back the difference quotient would be all rounding, so this one stays in f64.
    gradient_row("Cast", {"Cast"}, [](X x) { return cast(square(cast(x[0], f64, "there")), x[0].dtype(), "back"); },
                 {{{2, 3}}, {{}}, {{0, 2}}}),
};

class BasicTest : public OpTest {};

TEST_F(BasicTest, AConstantIsItsValueAndRemembersItsLine) {
  const Tensor c = constant(Array::of<std::int32_t>({3}, {1, 2, 3}), "c");
  EXPECT_EQ(c.node()->where.line(), static_cast<unsigned>(__LINE__ - 1));
  EXPECT_EQ(ints(c), (std::vector<std::int32_t>{1, 2, 3}));
  EXPECT_EQ(run(constant(0.5)).dtype(), f64);
}

TEST_F(BasicTest, APlaceholderHasTheSpecItWasGiven) {
  const Tensor p = placeholder({"image", f32, {kAny, 2}});
  EXPECT_EQ(p.name(), "image");
  EXPECT_EQ(p.shape(), Shape({kAny, 2}));
  EXPECT_EQ(p.node()->where.line(), static_cast<unsigned>(__LINE__ - 3));
  EXPECT_EQ(floats(p * 2.f, {{p, counting({2, 2})}}), (std::vector<float>{0, 2, 4, 6}));
  EXPECT_EQ(floats(p * 2.f, {{p, counting({1, 2})}}), (std::vector<float>{0, 2}));
}

TEST_F(BasicTest, NoGradientFlowsThroughStopGradient) {
  const Tensor x = constant(3.f);
  EXPECT_EQ(floats(gradients({stop_gradient(x) * x}, {x})[0])[0], 3.f);
  EXPECT_FALSE(gradients({stop_gradient(x)}, {x})[0]);
}

TEST_F(BasicTest, AGroupRunsWhatItHolds) {
  const Variable a = new_variable("a", {.shape = {}}), b = new_variable("b", {.shape = {2}});
  const Operation both = group({a.assign(5.f), b.assign(constant(counting({2})))}, "both");
  EXPECT_EQ(both.type(), "NoOp");
  EXPECT_EQ(both.name(), "both");
  Session session(graph);
  session.initialize();
  session.run(both);
  EXPECT_EQ(session.value(a).item(), 5);
  EXPECT_EQ(session.value(b).item(1), 1);
}

TEST_F(BasicTest, CastConvertsAsCppDoes) {
  const Tensor x = constant(Array::of<float>({4}, {-1.7f, 0.f, 0.5f, 2.9f}));
  EXPECT_EQ(ints(cast(x, i32)), (std::vector<std::int32_t>{-1, 0, 0, 2}));
  EXPECT_EQ(bools(cast(x, boolean)), (std::vector<bool>{true, false, true, true}));
  EXPECT_EQ(floats(cast(greater(x, 0.f), f32)), (std::vector<float>{0, 0, 1, 1}));
  EXPECT_EQ(values<std::uint8_t>(cast(constant(300), u8))[0], 44);
  EXPECT_EQ(cast(x, f32), x);
}

TEST_F(BasicTest, IntegersCarryNoGradient) {
  const Tensor x = constant(1.5f);
  EXPECT_FALSE(gradients({cast(cast(x, i32), f32)}, {x})[0]);
}

}  // namespace
}  // namespace belfry
