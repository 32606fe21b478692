#include "belfry/ops/basic.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "belfry/ops/array_ops.h"
#include "belfry/ops/pointwise.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;

const bool basic_rows[] = {
    gradient_row("Identity", {"Identity"}, [](X x) { return square(identity(x[0])); }, {{{2, 3}}, {{}}, {{0}}}),
    // To f32 and back the difference quotient would be all rounding, so this one stays in f64.
    gradient_row("Cast", {"Cast"}, [](X x) { return cast(square(cast(x[0], f64, "there")), x[0].dtype(), "back"); },
                 {{{2, 3}}, {{}}, {{0, 2}}}),
};

class BasicTest : public OpTest {
 protected:
  static Tensor true_value() { return constant(Array(true)); }
};

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

// Long enough for a vectorised loop, and fed: nothing is folded away.
TEST_F(BasicTest, FloatsBeyondAnIntegersRangeBecomeItsEndsAndNanBecomesZero) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> row{-1e20f, -2147483648.f, -1.5f, NAN, 255.5f, 256.f, 2147483520.f, 2147483648.f, infinity};
  Array x(f32, {1000, 9});
  for (std::int64_t i = 0; i < x.elements(); ++i) x.set_item(i, row[static_cast<std::size_t>(i % 9)]);
  for (const DType from : {f32, f64}) {
    const Tensor fed = input(x.cast(from));
    const Array narrow = run(cast(fed, u8)), whole = run(cast(fed, i32)), wide = run(cast(fed, i64));
    const std::vector<std::uint8_t> u{0, 0, 0, 0, 255, 255, 255, 255, 255};
    const std::vector<std::int32_t> i{INT32_MIN, INT32_MIN, -1, 0, 255, 256, 2147483520, INT32_MAX, INT32_MAX};
    const std::vector<std::int64_t> w{INT64_MIN, INT32_MIN, -1, 0, 255, 256, 2147483520, 2147483648, INT64_MAX};
    for (std::size_t k = 0; k < 9000; ++k) {
      ASSERT_EQ(narrow.values<std::uint8_t>()[k], u[k % 9]) << k;
      ASSERT_EQ(whole.values<std::int32_t>()[k], i[k % 9]) << k;
      ASSERT_EQ(wide.values<std::int64_t>()[k], w[k % 9]) << k;
    }
  }
}

TEST_F(BasicTest, FillAndPadConvertTheirNumberAsCastDoes) {
  EXPECT_EQ(values<std::uint8_t>(fill({2}, 300, u8)), (std::vector<std::uint8_t>{255, 255}));
  EXPECT_EQ(ints(fill({1}, std::nan(""), i32)), std::vector<std::int32_t>{0});
  EXPECT_EQ(ints(pad(input(Array::full(i32, {1}, 1)), {{.before = 1}}, -1e20)),
            (std::vector<std::int32_t>{INT32_MIN, 1}));
}

TEST_F(BasicTest, IntegersOfAnyTypeStandBesideATensor) {
  const Tensor x = constant(Array::of<std::int64_t>({3}, {1, 2, 3}));
  EXPECT_EQ(bools(x < std::int64_t{2}), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(bools(std::size_t{2} <= x), (std::vector<bool>{false, true, true}));
  EXPECT_EQ(values<std::int64_t>(x * 2LL + 1u), (std::vector<std::int64_t>{3, 5, 7}));
  EXPECT_EQ(error_of([&] { (void)(x + ((std::int64_t{1} << 53) + 2)); }),
            "[operand] expected a number of magnitude at most 2^53, got 9007199254740994 (at basic_test.cc:" +
                std::to_string(__LINE__ - 2) + "). Use constant().");
}

TEST_F(BasicTest, ANumberBesideATensorMustFitItsType) {
  const Tensor bytes = constant(Array::full(u8, {2}, 1)), flags = constant(true), whole = constant(1);
  EXPECT_EQ(error_of([&] { equal(bytes, 300); }),
            "[operand] expected a number that u8 can hold beside a tensor of that type, got 300 (at basic_test.cc:" +
                std::to_string(__LINE__ - 2) + "). Use cast() on the tensor.");
  EXPECT_NE(error_of([&] { equal(bytes, -1); }).find("expected a number that u8 can hold"), std::string::npos);
  EXPECT_NE(error_of([&] { equal(flags, 2); }).find("expected a number that bool can hold"), std::string::npos);
  EXPECT_NE(error_of([&] { equal(whole, 1e300); }).find("expected a number that i32 can hold"), std::string::npos);
  EXPECT_EQ(bools(equal(bytes, 1)), (std::vector<bool>{true, true}));
  EXPECT_EQ(bools(equal(flags, 1)), std::vector<bool>{true});
}

TEST_F(BasicTest, AGroupTakesOperationsTensorsAndAssignmentsSideBySide) {
  const Variable a = new_variable("a", {.shape = {}}), b = new_variable("b", {.shape = {}});
  const Operation inner = group({a.assign(5.f)});
  const Tensor more = b.assign_add(1.f);
  const Tensors tensors{more, constant(1.f)};
  const Operation mixed = group({inner, more, Operation(more)}, "mixed"), listed = group(tensors, "listed");
  EXPECT_EQ(mixed.name(), "mixed");
  Session session(graph);
  session.initialize();
  session.run(mixed);
  EXPECT_EQ(session.value(a).item(), 5);
  EXPECT_EQ(session.value(b).item(), 1);
  session.run(listed);
  EXPECT_EQ(session.value(b).item(), 2);
  const std::string text = error_of([] { group({Tensor()}); });
  EXPECT_NE(text.find("expected operations, got an empty handle (at basic_test.cc:" + std::to_string(__LINE__ - 1)),
            std::string::npos)
      << text;
}

TEST_F(BasicTest, OnlyNumbersAreAddedToAVariable) {
  const Variable flag = new_variable("flag", {.shape = {}, .dtype = boolean});
  EXPECT_NE(error_of([&] { flag.assign_add(true_value()); })
                .find("[AssignAdd 'AssignAdd'] expected a variable of f32, f64, i32 or i64, got bool. Use assign(). "
                      "Inputs: 'flag' bool []"),
            std::string::npos);
  Session session(graph);
  session.initialize();
  session.run(flag.assign(true_value()));
  EXPECT_EQ(session.value(flag).item(), 1);
}

TEST_F(BasicTest, IntegersCarryNoGradient) {
  const Tensor x = constant(1.5f);
  EXPECT_FALSE(gradients({cast(cast(x, i32), f32)}, {x})[0]);
}

}  // namespace
}  // namespace belfry
