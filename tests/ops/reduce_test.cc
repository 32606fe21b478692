#include "belfry/ops/reduce.h"

#include <cmath>
#include <limits>

#include "belfry/ops/pointwise.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"
#include "tests/support/rounding.h"

namespace belfry {
namespace {

using X = const Tensors&;
using Reduce = Tensor (*)(const Operand&, const ReduceOptions&, std::string_view);

bool rows_for(const char* name, const char* op, Reduce reduce) {
  const std::string base = name;
  const std::vector<std::string> ops{op, "ExpandDims"};
  gradient_row((base + "OverAll").c_str(), {op}, [reduce](X x) { return reduce(square(x[0]), {}, ""); },
               {{{2, 3}}, {{}}, {{3}}});
  gradient_row((base + "OverTheFirst").c_str(), ops, [reduce](X x) { return reduce(square(x[0]), {.axes = {0}}, ""); },
               {{{2, 3}}, {{2, 0}}, {{3, 2, 2}}});
  gradient_row((base + "OverTheLast").c_str(), ops, [reduce](X x) { return reduce(square(x[0]), {.axes = {-1}}, ""); },
               {{{2, 3}}, {{0, 3}}, {{2, 2, 3}}});
  return gradient_row((base + "OverTwoKept").c_str(), {op},
                      [reduce](X x) { return reduce(square(x[0]), {.axes = {2, 0}, .keep_dims = true}, ""); },
                      {{{2, 3, 2}}, {{2, 2, 2, 2}}, {{2, 0, 1}}});
}

const bool reduce_rows[] = {
    rows_for("ReduceSum", "ReduceSum", reduce_sum),
    rows_for("ReduceMean", "ReduceMean", reduce_mean),
    rows_for("ReduceMax", "ReduceMax", reduce_max),
    rows_for("ReduceMin", "ReduceMin", reduce_min),
    rows_for("ReduceProd", "ReduceProd", reduce_prod),
    rows_for("L2Norm", "L2Norm", l2_norm),
    rows_for("ReduceLogSumExp", "ReduceMax", reduce_logsumexp),
    gradient_row("L2Normalize", {"Rsqrt"}, [](X x) { return l2_normalize(x[0]); }, {{{2, 3}}, {{0, 3}}, {{2, 2, 2}}}),
    gradient_row("L2NormalizeOverAll", {"Rsqrt"}, [](X x) { return l2_normalize(x[0], {.axes = {}}); },
                 {{{2, 3}}, {{3}}}),
    gradient_row("ReduceSumOfNothing", {"ReduceSum"}, [](X x) { return reduce_sum(x[0], {.axes = {0}}); }, {{{0, 3}}}),
    gradient_row("ReduceProdOfNothing", {"ReduceProd"}, [](X x) { return reduce_prod(x[0], {.axes = {0}}); },
                 {{{0, 3}}}),
};

class ReduceTest : public OpTest {};

TEST_F(ReduceTest, AnyAxesKeptOrNot) {
  const Tensor x = input(counting({2, 3, 2}));
  EXPECT_EQ(floats(reduce_sum(x)), (std::vector<float>{66}));
  EXPECT_EQ(floats(reduce_sum(x, {.axes = {0}})), (std::vector<float>{6, 8, 10, 12, 14, 16}));
  EXPECT_EQ(floats(reduce_sum(x, {.axes = {1}})), (std::vector<float>{6, 9, 24, 27}));
  EXPECT_EQ(floats(reduce_sum(x, {.axes = {0, 2}})), (std::vector<float>{14, 22, 30}));
  EXPECT_EQ(floats(reduce_mean(x, {.axes = {1, 2}})), (std::vector<float>{2.5f, 8.5f}));
  EXPECT_EQ(floats(reduce_max(x, {.axes = {-2}})), (std::vector<float>{4, 5, 10, 11}));
  EXPECT_EQ(floats(reduce_min(x, {.axes = {2}})), (std::vector<float>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(reduce_sum(x, {.axes = {0, 2}, .keep_dims = true}).shape(), Shape({1, 3, 1}));
  EXPECT_EQ(reduce_mean(x, "mean").name(), "mean");
  EXPECT_EQ(ints(reduce_prod(input(Array::of<std::int32_t>({3}, {2, -3, 4})))), (std::vector<std::int32_t>{-24}));
  EXPECT_EQ(ints(reduce_sum(input(Array::of<std::int32_t>({2}, {-5, 3})))), (std::vector<std::int32_t>{-2}));
}

TEST_F(ReduceTest, LogSumExpNeitherOverflowsNorTakesInfinitiesForNumbers) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor x = input(Array::of<float>({5, 2}, {1000, 1000, -1000, -1000, 0, 1, -inf, -inf, inf, 0}));
  const std::vector<float> y = floats(reduce_logsumexp(x, {.axes = {1}}));
  EXPECT_FLOAT_EQ(y[0], 1000.6931f);
  EXPECT_FLOAT_EQ(y[1], -999.30685f);
  EXPECT_FLOAT_EQ(y[2], 1.3132616f);
  EXPECT_EQ(y[3], -inf);
  EXPECT_EQ(y[4], inf);
  EXPECT_EQ(reduce_logsumexp(x, {.axes = {0}, .keep_dims = true}, "lse").shape(), Shape({1, 2}));
  EXPECT_EQ(floats(reduce_logsumexp(input(Array(f32, {0, 2})), {.axes = {0}})), (std::vector<float>{-inf, -inf}));
  EXPECT_EQ(floats(reduce_logsumexp(input(3.f))), (std::vector<float>{3}));
}

TEST_F(ReduceTest, AnyAndAllAgreeWithPlainLoops) {
  constexpr std::int64_t a = 19, b = 300, c = 7;
  Array x(boolean, {a, b, c});
  for (std::int64_t i = 0; i < x.elements(); ++i) x.set_item(i, i * 7919 % 1009 < (i % c) * 168);
  const Array any = run(reduce_any(input(x), {.axes = {1}})), all = run(reduce_all(input(x), {.axes = {0, 1}}));
  for (std::int64_t i = 0; i < a; ++i)
    for (std::int64_t k = 0; k < c; ++k) {
      bool some = false;
      for (std::int64_t j = 0; j < b; ++j) some = some || x.item((i * b + j) * c + k) != 0;
      ASSERT_EQ(any.item(i * c + k), some);
    }
  for (std::int64_t k = 0; k < c; ++k) {
    bool every = true;
    for (std::int64_t i = 0; i < a * b; ++i) every = every && x.item(i * c + k) != 0;
    ASSERT_EQ(all.item(k), every);
  }
  EXPECT_EQ(bools(reduce_any(input(Array(boolean, {0})))), (std::vector<bool>{false}));
  EXPECT_EQ(bools(reduce_all(input(Array(boolean, {0})))), (std::vector<bool>{true}));
}

TEST_F(ReduceTest, NormsOfLargeValuesDoNotOverflowAndZeroHasAGradient) {
  const Tensor x = input(Array::of<float>({2, 2}, {3e30f, 4e30f, 0, 0}));
  EXPECT_EQ(floats(l2_norm(x, {.axes = {1}})), (std::vector<float>{5e30f, 0}));
  const std::vector<float> g = floats(gradients({l2_norm(x, {.axes = {1}})}, {x})[0]);
  EXPECT_FLOAT_EQ(g[0], 0.6f);
  EXPECT_FLOAT_EQ(g[1], 0.8f);
  EXPECT_EQ(g[2], 0.f);
  const Tensor rows = input(Array::of<float>({2, 2}, {3, 4, 0, 0}));
  const std::vector<float> unit = floats(l2_normalize(rows));
  EXPECT_NEAR(unit[0], 0.6f, 1e-6f);
  EXPECT_NEAR(unit[1], 0.8f, 1e-6f);
  EXPECT_EQ(unit[2], 0.f);
}

TEST_F(ReduceTest, UnknownDimensionsAreReducedOrKept) {
  const Tensor x = placeholder(f32, {kAny, 3, kAny});
  EXPECT_EQ(reduce_sum(x, {.axes = {0}}).shape(), Shape({3, kAny}));
  const Tensor g = gradients({reduce_mean(x, {.axes = {0, 2}})}, {x})[0];
  EXPECT_EQ(floats(g, {{x, counting({2, 3, 1})}}), std::vector<float>(6, 0.5f));
  EXPECT_EQ(floats(g, {{x, counting({1, 3, 4})}}), std::vector<float>(12, 0.25f));
}

TEST_F(ReduceTest, ASumOfManyIsAccurateInEveryDirection) {
  // 0.1 in f32 is 0.100000001490116; two million of them added one by one in f32 would be off by percents. Sums of a
  // thousand are made in f32, those of sums in f64.
  constexpr std::int64_t n = 1 << 11;
  const Tensor x = input(Array::full(f32, {n, 2, n / 2}, 0.1));
  const double exact = static_cast<double>(0.1f);
  const auto expect_near = [](float got, double wanted) { ASSERT_NEAR(got, wanted, rounding_bound(1030, wanted)); };
  expect_near(floats(reduce_sum(x))[0], exact * n * n);
  expect_near(floats(reduce_mean(x))[0], exact);
  for (const Ints& axes : {Ints{0}, Ints{2}, Ints{0, 1}, Ints{1, 2}, Ints{0, 2}, Ints{1}}) {
    const std::vector<float> sums = floats(reduce_sum(x, {.axes = axes}));
    const double count = static_cast<double>(n * n) / static_cast<double>(sums.size());
    for (float sum : sums) expect_near(sum, exact * count);
  }
}

TEST_F(ReduceTest, ReductionsOfLargeTensorsAgreeWithPlainLoops) {
  constexpr std::int64_t a = 37, b = 41, c = 300;
  Array x(f64, {a, b, c});
  for (std::int64_t i = 0; i < x.elements(); ++i) x.set_item(i, static_cast<double>(i * 7919 % 1009) - 500);
  const Array middle = run(reduce_max(input(x), {.axes = {1}})), outer = run(reduce_sum(input(x), {.axes = {0, 2}}));
  for (std::int64_t i = 0; i < a; ++i)
    for (std::int64_t k = 0; k < c; ++k) {
      double most = -1e9;
      for (std::int64_t j = 0; j < b; ++j) most = std::max(most, x.item((i * b + j) * c + k));
      ASSERT_EQ(middle.item(i * c + k), most);
    }
  for (std::int64_t j = 0; j < b; ++j) {
    double sum = 0;
    for (std::int64_t i = 0; i < a; ++i)
      for (std::int64_t k = 0; k < c; ++k) sum += x.item((i * b + j) * c + k);
    ASSERT_EQ(outer.item(j), sum);
  }
}

TEST_F(ReduceTest, ReductionsOfNothingHaveTheirNeutralValue) {
  const Tensor none = input(Array(f32, {0, 2}));
  EXPECT_EQ(floats(reduce_sum(none, {.axes = {0}})), (std::vector<float>{0, 0}));
  EXPECT_EQ(floats(reduce_prod(none)), (std::vector<float>{1}));
  EXPECT_TRUE(std::isnan(floats(reduce_mean(none))[0]));
  EXPECT_EQ(floats(reduce_max(none))[0], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(ints(reduce_min(input(Array(i32, {0}))))[0], std::numeric_limits<std::int32_t>::max());
  EXPECT_TRUE(floats(reduce_sum(none, {.axes = {1}})).empty());
}

TEST_F(ReduceTest, NotANumberIsNeverSwallowed) {
  const Tensor x = input(Array::of<float>({3}, {1, std::numeric_limits<float>::quiet_NaN(), 2}));
  EXPECT_TRUE(std::isnan(floats(reduce_max(x))[0]));
  EXPECT_TRUE(std::isnan(floats(reduce_min(x))[0]));
}

TEST_F(ReduceTest, TiesShareTheGradientOfAMaximum) {
  const Tensor x = input(Array::of<float>({2, 3}, {1, 4, 4, 7, 2, 1}));
  EXPECT_EQ(floats(gradients({reduce_max(x, {.axes = {1}})}, {x})[0]), (std::vector<float>{0, 0.5f, 0.5f, 1, 0, 0}));
  EXPECT_EQ(floats(gradients({reduce_min(x)}, {x})[0]), (std::vector<float>{0.5f, 0, 0, 0, 0, 0.5f}));
}

TEST_F(ReduceTest, TheGradientOfAProductKnowsZeros) {
  const Tensor x = input(Array::of<float>({3, 3}, {2, 3, 4, 2, 0, 4, 0, 3, 0}));
  EXPECT_EQ(floats(gradients({reduce_prod(x, {.axes = {1}})}, {x})[0]),
            (std::vector<float>{12, 8, 6, 0, 8, 0, 0, 0, 0}));
  // The second derivatives of 2 * 0 * 4 and of 0 * 3 * 0: products of the remaining factors.
  const auto second = [&](std::int64_t row, std::int64_t column) {
    Array pick = Array::zeros(f32, {3, 3});
    pick.set_item(row * 3 + column, 1);
    const Tensor g = gradients({reduce_prod(x, {.axes = {1}})}, {x})[0];
    return floats(gradients({g}, {x}, {.grad_ys = {constant(pick)}})[0]);
  };
  EXPECT_EQ(second(0, 0), (std::vector<float>{0, 4, 3, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(second(1, 0), (std::vector<float>{0, 0, 0, 0, 4, 0, 0, 0, 0}));
  EXPECT_EQ(second(1, 1), (std::vector<float>{0, 0, 0, 4, 0, 2, 0, 0, 0}));
  EXPECT_EQ(second(2, 0), (std::vector<float>{0, 0, 0, 0, 0, 0, 0, 0, 3}));
  EXPECT_EQ(second(2, 1), (std::vector<float>{0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST_F(ReduceTest, MistakesNameTheAxisAndTheLine) {
  const Tensor x = placeholder(f32, {kAny, 3}, "x");
  std::string text = error_of([&] { reduce_sum(x, {.axes = {2}}); });
  EXPECT_NE(
      text.find("[reduce_sum] expected an axis in [-2, 2), got 2. Input: 'x' f32 [?, 3] (made at reduce_test.cc:"),
      std::string::npos)
      << text;
  text = error_of([&] { reduce_max(x, {.axes = {1, -1}}); });
  EXPECT_NE(text.find("[reduce_max] expected every axis once, got axis 1 twice"), std::string::npos) << text;
  text = error_of([&] { reduce_sum(constant(true), "count"); });
  EXPECT_NE(text.find("[ReduceSum 'count'] expected elements of f32, f64, i32 or i64, got bool. Use cast()"),
            std::string::npos)
      << text;
  text = error_of([&] { reduce_any(x, {}, "some"); });
  EXPECT_NE(text.find("[ReduceAny 'some'] expected elements of bool, got f32. Use a comparison or cast()"),
            std::string::npos)
      << text;
  text = error_of([&] { reduce_logsumexp(x, {.axes = {5}}); });
  EXPECT_NE(text.find("[reduce_logsumexp] expected an axis in [-2, 2), got 5"), std::string::npos) << text;
  text = error_of([&] { reduce_mean(constant(1)); });
  EXPECT_NE(text.find("expected elements of f32 or f64, got i32. Use cast()"), std::string::npos) << text;
}

}  // namespace
}  // namespace belfry
