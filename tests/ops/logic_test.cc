#include "belfry/ops/logic.h"

#include <limits>

#include "belfry/ops/pointwise.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using Bools = std::vector<bool>;

class LogicTest : public OpTest {};

TEST_F(LogicTest, ConnectivesHaveTheirTruthTables) {
  const Tensor a = input(Array::of<bool>({2, 1}, {false, true})), b = input(Array::of<bool>({2}, {false, true}));
  EXPECT_EQ(bools(logical_and(a, b)), (Bools{false, false, false, true}));
  EXPECT_EQ(bools(logical_or(a, b)), (Bools{false, true, true, true}));
  EXPECT_EQ(bools(logical_xor(a, b)), (Bools{false, true, true, false}));
  EXPECT_EQ(bools(logical_not(b)), (Bools{true, false}));
  EXPECT_TRUE(bools(logical_and(input(Array(boolean, {0, 2})), b)).empty());
}

TEST_F(LogicTest, TestsTellNumbersApart) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const DType dtype : {f32, f64}) {
    const Tensor x = input(Array::of<double>({5}, {-inf, -1, 0, inf, nan}).cast(dtype));
    EXPECT_EQ(bools(is_nan(x)), (Bools{false, false, false, false, true}));
    EXPECT_EQ(bools(is_inf(x)), (Bools{true, false, false, true, false}));
    EXPECT_EQ(bools(is_finite(x)), (Bools{false, true, true, false, false}));
    EXPECT_EQ(bools(logical_not(is_finite(x))), (Bools{true, false, false, true, true}));
  }
}

// f32 in a fused program and f64 op by op: the same truth.
TEST_F(LogicTest, ConditionsInsideALongerExpressionAreWhatTheyAreAlone) {
  constexpr std::int64_t n = 40'000;
  Array x(f64, {n / 8, 8});
  for (std::int64_t i = 0; i < n; ++i) x.set_item(i, static_cast<double>(i * 7919 % 1009) / 100 - 5);
  Array results[2], truths[2];
  for (const DType dtype : {f32, f64}) {
    const Tensor t = input(x.cast(dtype)), given = input(Array::of<bool>({8}, {1, 0, 1, 1, 0, 0, 1, 0}));
    const Tensor inside = logical_and(greater(t, -1.f), logical_not(greater_equal(t, 2.f)));
    const Tensor chosen = logical_xor(logical_or(inside, given), equal(t * 0.f, 0.f));
    results[dtype == f64] = run(select(chosen, t * 2.f, cast(given, dtype) - t));
    truths[dtype == f64] = run(logical_or(chosen, less(t, -4.f)));
  }
  EXPECT_TRUE(equal(truths[0], truths[1]));
  for (std::int64_t i = 0; i < n; ++i) ASSERT_NEAR(results[0].item(i), results[1].item(i), 1e-5) << i;
}

TEST_F(LogicTest, NumbersAreNoTruthValues) {
  const Tensor x = placeholder(f32, {3}, "x"), b = placeholder(boolean, {3});
  std::string text = error_of([&] { logical_and(b, x, "both"); });
  EXPECT_NE(text.find("[LogicalAnd 'both'] expected operands of type bool, got f32. Use a comparison or cast()"),
            std::string::npos)
      << text;
  text = error_of([&] { logical_not(x); });
  EXPECT_NE(text.find("expected operands of type bool, got f32"), std::string::npos) << text;
  text = error_of([&] { is_nan(b); });
  EXPECT_NE(text.find("expected x of a floating type, got bool. Use cast()"), std::string::npos) << text;
}

}  // namespace
}  // namespace belfry
