#include "belfry/ops/pointwise.h"

#include <cmath>
#include <limits>

#include "belfry/base/error.h"
#include "belfry/ops/broadcast.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;
constexpr CheckOptions kPositive{.low = 0.5, .high = 2};

const std::vector<ShapeList> kUnary{{{2, 3}}, {{}}, {{0, 3}}, {{2, 1, 3, 2}}};
const std::vector<ShapeList> kBinary{{{2, 3}, {2, 3}},    {{2, 3}, {3}}, {{}, {3}},
                                     {{2, 1, 2}, {3, 1}}, {{0, 3}, {3}}, {{1}, {0}}};

const bool pointwise_rows[] = {
    gradient_row(
        "Neg", {"Neg"}, [](X x) { return -x[0]; }, kUnary),
    gradient_row(
        "Abs", {"Abs"}, [](X x) { return abs(x[0]); }, kUnary),
    gradient_row(
        "Square", {"Square"}, [](X x) { return square(x[0]); }, kUnary),
    gradient_row(
        "Sqrt", {"Sqrt"}, [](X x) { return sqrt(x[0]); }, kUnary, kPositive),
    gradient_row(
        "Rsqrt", {"Rsqrt"}, [](X x) { return rsqrt(x[0]); }, kUnary, kPositive),
    gradient_row(
        "Reciprocal", {"Reciprocal"}, [](X x) { return reciprocal(x[0]); }, kUnary, kPositive),
    gradient_row(
        "Exp", {"Exp"}, [](X x) { return exp(x[0]); }, kUnary),
    gradient_row(
        "Expm1", {"Expm1"}, [](X x) { return expm1(x[0]); }, kUnary),
    gradient_row(
        "Log", {"Log"}, [](X x) { return log(x[0]); }, kUnary, kPositive),
    gradient_row(
        "Log1p", {"Log1p"}, [](X x) { return log1p(x[0]); }, kUnary, kPositive),
    gradient_row(
        "Tanh", {"Tanh"}, [](X x) { return tanh(x[0]); }, kUnary),
    gradient_row(
        "Sigmoid", {"Sigmoid"}, [](X x) { return sigmoid(x[0]); }, kUnary),
    gradient_row(
        "Sin", {"Sin"}, [](X x) { return sin(x[0]); }, kUnary),
    gradient_row(
        "Cos", {"Cos"}, [](X x) { return cos(x[0]); }, kUnary),
    gradient_row(
        "Relu", {"Relu", "ReluGrad"}, [](X x) { return relu(x[0]); }, kUnary),
    gradient_row(
        "Add", {"Add"}, [](X x) { return x[0] + x[1]; }, kBinary),
    gradient_row(
        "Sub", {"Sub"}, [](X x) { return x[0] - x[1]; }, kBinary),
    gradient_row(
        "Mul", {"Mul", "SumToLike"}, [](X x) { return x[0] * x[1]; }, kBinary),
    gradient_row(
        "Div", {"Div"}, [](X x) { return x[0] / x[1]; }, kBinary, kPositive),
    gradient_row(
        "Maximum", {"Maximum"}, [](X x) { return maximum(x[0], x[1]); }, kBinary),
    gradient_row(
        "Minimum", {"Minimum"}, [](X x) { return minimum(x[0], x[1]); }, kBinary),
    gradient_row(
        "Pow", {"Pow"}, [](X x) { return pow(x[0], x[1]); }, kBinary, kPositive),
    gradient_row(
        "SquaredDifference", {"SquaredDifference"}, [](X x) { return squared_difference(x[0], x[1]); }, kBinary),
    gradient_row(
        "Mod", {"Mod"}, [](X x) { return mod(x[0] * 10.f, x[1]); }, kBinary, kPositive),
    gradient_row("ClipByValue", {"ClipByValue"},
                 [](X x) { return clip_by_value(square(x[0]) * 3.f, x[1] * 0.1f + 0.5f, x[2] * 0.1f + 1.5f); },
                 {{{2, 3}, {2, 3}, {2, 3}}, {{4, 3}, {3}, {}}, {{2}, {3, 1}, {1}}, {{0, 3}, {3}, {}}}),
    gradient_row("Select", {"Select"}, [](X x) { return select(greater(x[0], 0.f), x[1], x[2]); },
                 {{{2, 3}, {2, 3}, {2, 3}}, {{2, 1}, {3}, {}}, {{0}, {1}, {0}}}),
    gradient_row("SumToLike", {"SumToLike", "BroadcastLike"}, [](X x) { return sum_to_like(square(x[0]), x[1]); },
                 {{{2, 3}, {3}}, {{2, 3}, {2, 1}}, {{2, 3}, {}}, {{4, 2, 3}, {2, 1}}, {{0, 3}, {3}}, {{0, 3}, {1, 1}}}),
    gradient_row("BroadcastLike", {"BroadcastLike"}, [](X x) { return broadcast_like(square(x[0]), x[1]); },
                 {{{3}, {2, 3}}, {{2, 1}, {2, 3}}, {{}, {2, 3}}, {{2, 1}, {4, 2, 3}}, {{1}, {0}}}),
    gradient_row("ReshapeLike", {"ReshapeLike"}, [](X x) { return reshape_like(square(x[0]), x[1]); },
                 {{{2, 3}, {3, 1, 2}}, {{}, {1}}, {{0, 3}, {2, 0}}}),
};

class PointwiseTest : public OpTest {};

TEST_F(PointwiseTest, BroadcastsAsNumPyDoesUpToRankEight) {
  const Tensor a = input(Array::of<float>({2, 1}, {1, 2})), b = input(Array::of<float>({3}, {10, 20, 30}));
  EXPECT_EQ(floats(a + b), (std::vector<float>{11, 21, 31, 12, 22, 32}));
  const Tensor wide = input(Array::of<float>({1, 2, 1, 1, 1, 2, 1, 1}, {1, 2, 3, 4})),
               tall = input(Array::of<float>({2, 1, 1, 2, 1, 1, 1, 1}, {10, 20, 30, 40}));
  const Array y = run(wide + tall);
  EXPECT_EQ(y.shape(), Shape({2, 2, 1, 2, 1, 2, 1, 1}));
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(y.item(i), 1 + (i >> 2 & 1) * 2 + (i & 1) + 10 * (1 + (i >> 3) * 2 + (i >> 1 & 1))) << i;
}

TEST_F(PointwiseTest, LargeTensorsGiveTheSameForEveryElementWhateverTheTeam) {
  constexpr std::int64_t rows = 300, columns = 700;
  Array a(f32, {rows, columns}), b(f32, {rows, 1});
  for (std::int64_t i = 0; i < rows * columns; ++i) a.set_item(i, static_cast<double>(i % 1000));
  for (std::int64_t i = 0; i < rows; ++i) b.set_item(i, static_cast<double>(i));
  const Array y = run(input(a) - input(b));
  for (std::int64_t i = 0; i < rows * columns; ++i)
    ASSERT_EQ(y.item(i), static_cast<double>(i % 1000 - i / columns)) << i;
}

TEST_F(PointwiseTest, IntegersWrapAndDivideTowardsZero) {
  const Tensor a = input(Array::of<std::int32_t>({4}, {7, -7, 2147483647, 5})),
               b = input(Array::of<std::int32_t>({4}, {2, 2, 1, 0}));
  EXPECT_EQ(ints(a / b), (std::vector<std::int32_t>{3, -3, 2147483647, 0}));
  EXPECT_EQ(ints(a + b), (std::vector<std::int32_t>{9, -5, -2147483647 - 1, 5}));
  EXPECT_EQ(ints(pow(a, b)), (std::vector<std::int32_t>{49, 49, 2147483647, 1}));
  EXPECT_EQ(ints(abs(a) * 2), (std::vector<std::int32_t>{14, 14, -2, 10}));
}

TEST_F(PointwiseTest, ComparisonsGiveBooleansForEveryType) {
  const Tensor a = input(Array::of<std::uint8_t>({3}, {1, 200, 3})),
               b = input(Array::of<std::uint8_t>({3}, {1, 3, 200}));
  EXPECT_EQ(bools(equal(a, b)), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(bools(not_equal(a, b)), (std::vector<bool>{false, true, true}));
  EXPECT_EQ(bools(less(a, b)), (std::vector<bool>{false, false, true}));
  EXPECT_EQ(bools(less_equal(a, b)), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(bools(greater(a, b)), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(bools(greater_equal(a, b)), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(bools(a < b), bools(less(a, b)));
  EXPECT_EQ(bools(a <= b), bools(less_equal(a, b)));
  EXPECT_EQ(bools(a > 2), bools(greater(a, 2)));
  EXPECT_EQ(bools(2 >= a), bools(greater_equal(2, a)));
  EXPECT_EQ(ints(select(less(a, b), 1, input(Array::of<std::int32_t>({3}, {7, 8, 9})))),
            (std::vector<std::int32_t>{7, 8, 1}));
}

TEST_F(PointwiseTest, NotANumberIsNeverSwallowed) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor a = input(Array::of<float>({2}, {nan, 1})), b = input(Array::of<float>({2}, {1, nan}));
  for (const Tensor& y : {maximum(a, b), minimum(a, b), a + b})
    for (float v : floats(y)) EXPECT_TRUE(std::isnan(v)) << Operation(y).type();
  for (const Tensor& y : {relu(a), sign(a), abs(a)}) EXPECT_TRUE(std::isnan(floats(y)[0])) << Operation(y).type();
}

TEST_F(PointwiseTest, FunctionsHaveTheirValues) {
  const Tensor x = input(Array::of<float>({4}, {-1.5f, 0.f, 0.25f, 100.f}));
  EXPECT_EQ(floats(floor(x)), (std::vector<float>{-2, 0, 0, 100}));
  EXPECT_EQ(floats(ceil(x)), (std::vector<float>{-1, 0, 1, 100}));
  EXPECT_EQ(floats(round(input(Array::of<float>({5}, {-1.5f, -0.4f, 0.5f, 1.5f, 2.6f})))),
            (std::vector<float>{-2, 0, 0, 2, 3}));
  EXPECT_FLOAT_EQ(floats(expm1(input(1e-6f)))[0], 1.0000005e-6f);
  EXPECT_EQ(floats(sign(x)), (std::vector<float>{-1, 0, 1, 1}));
  EXPECT_EQ(floats(relu(x)), (std::vector<float>{0, 0, 0.25f, 100}));
  EXPECT_EQ(floats(ones_like(x)), (std::vector<float>{1, 1, 1, 1}));
  EXPECT_EQ(floats(zeros_like(x)), (std::vector<float>{0, 0, 0, 0}));
  EXPECT_EQ(floats(sigmoid(input(Array::of<float>({3}, {-200, 0, 200})))), (std::vector<float>{0, 0.5f, 1}));
}

TEST_F(PointwiseTest, DivisionThatRoundsDownHasARemainderOfTheDivisorsSign) {
  const Array a = Array::of<std::int32_t>({6}, {7, -7, 7, -7, 6, 5}),
              b = Array::of<std::int32_t>({6}, {3, 3, -3, -3, 3, 0});
  for (const DType dtype : {i32, i64}) {
    EXPECT_TRUE(equal(run(floordiv(input(a.cast(dtype)), input(b.cast(dtype)))),
                      Array::of<std::int32_t>({6}, {2, -3, -3, 2, 2, 0}).cast(dtype)));
    EXPECT_TRUE(equal(run(mod(input(a.cast(dtype)), input(b.cast(dtype)))),
                      Array::of<std::int32_t>({6}, {1, 2, -2, -1, 0, 0}).cast(dtype)));
  }
  const Array least = Array::of<std::int32_t>({1}, {std::numeric_limits<std::int32_t>::min()});
  EXPECT_EQ(ints(mod(input(least), -1))[0], 0);
  EXPECT_EQ(ints(floordiv(input(least), -1))[0], std::numeric_limits<std::int32_t>::min());
  // Python: [x % y for x, y in ...]
  const std::vector<double> x{5.5, -5.5, 5.5, -5.5, 1e9, -1e-3}, y{2, 2, -2, -2, 7, 3};
  const std::vector<double> left{1.5, 0.5, -0.5, -1.5, 6, 2.999};
  for (const DType dtype : {f32, f64}) {
    const Tensor tx = input(Array::of<double>({6}, x).cast(dtype)), ty = input(Array::of<double>({6}, y).cast(dtype));
    const Array r = run(mod(tx, ty)), q = run(floordiv(tx, ty));
    for (std::int64_t i = 0; i < 6; ++i) {
      EXPECT_NEAR(r.item(i), left[static_cast<std::size_t>(i)], 1e-6) << i;
      EXPECT_NEAR(q.item(i), std::floor(x[static_cast<std::size_t>(i)] / y[static_cast<std::size_t>(i)]), 8) << i;
    }
  }
}

TEST_F(PointwiseTest, ClipKeepsWhatIsInsideAndNotANumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const Tensor x = input(Array::of<float>({6}, {-inf, -1, 0.5f, 1, 7, nan}));
  std::vector<float> y = floats(clip_by_value(x, -1.f, 1.f));
  EXPECT_TRUE(std::isnan(y.back()));
  y.pop_back();
  EXPECT_EQ(y, (std::vector<float>{-1, -1, 0.5f, 1, 1}));
  EXPECT_EQ(floats(gradients({clip_by_value(x, -1.f, 1.f)}, {x})[0]), (std::vector<float>{0, 1, 1, 1, 0, 1}));
  EXPECT_EQ(ints(clip_by_value(input(Array::of<std::int32_t>({3}, {-9, 3, 9})), 0, 5)),
            (std::vector<std::int32_t>{0, 3, 5}));
  const Tensor low = input(Array::of<float>({2, 1}, {0, 1})), wide = input(Array::of<float>({2}, {-1, 3}));
  EXPECT_EQ(floats(clip_by_value(wide, low, 2.f)), (std::vector<float>{0, 2, 1, 2}));
  const std::string text = error_of([&] { clip_by_value(x, constant(1), 2.f, "clip"); });
  EXPECT_NE(text.find("[ClipByValue 'clip'] expected bounds of x's type f32, got i32 and f32. Use cast()"),
            std::string::npos)
      << text;
}

TEST_F(PointwiseTest, WhereBroadcastsItsConditionToo) {
  const Tensor rows = input(Array::of<bool>({2, 1}, {true, false})), x = input(counting({3}));
  EXPECT_EQ(floats(where(rows, x, -1.f)), (std::vector<float>{0, 1, 2, -1, -1, -1}));
  EXPECT_EQ(floats(gradients({where(rows, x, -x)}, {x})[0]), (std::vector<float>{0, 0, 0}));
  EXPECT_NE(error_of([&] { where(x, x, x); }).find("expected a condition of type bool, got f32"), std::string::npos);
}

TEST_F(PointwiseTest, APowerOfZeroHasAGradient) {
  const Tensor a = input(Array::of<float>({3}, {0, 0, 2})), b = input(Array::of<float>({3}, {0, 1, 3}));
  const Tensors g = gradients({pow(a, b)}, {a, b});
  EXPECT_EQ(floats(g[0]), (std::vector<float>{0, 1, 12}));
  EXPECT_EQ(floats(g[1])[0], 0.f);
  EXPECT_EQ(floats(g[1])[1], 0.f);
}

TEST_F(PointwiseTest, ATieOfMaximumSendsItsGradientToTheFirst) {
  const Tensor a = input(2.f), b = input(2.f);
  const Tensors g = gradients({maximum(a, b)}, {a, b});
  EXPECT_EQ(floats(g[0])[0], 1.f);
  EXPECT_EQ(floats(g[1])[0], 0.f);
}

TEST_F(PointwiseTest, AnIntegerInAFunctionOfFloatsNamesTheOpAndTheRemedy) {
  const Tensor four = constant(4, "four");
  const std::string text = error_of([&] { sqrt(four, "root"); });
  EXPECT_EQ(text,
            "[Sqrt 'root'] expected elements of f32 or f64, got i32. Use cast(). Inputs: 'four' i32 [] (made at "
            "pointwise_test.cc:" +
                std::to_string(__LINE__ - 4) + ")");
  const std::string mismatch = error_of([] { add(placeholder(f32, {3}), placeholder(f32, {4}), "sum"); });
  EXPECT_EQ(mismatch.find("[Add 'sum'] expected dimensions that are equal or 1, got [3] and [4] (3 and 4 in dimension "
                          "-1). Use reshape() or expand_dims()"),
            0u)
      << mismatch;
  EXPECT_NE(error_of([&] { relu(constant(true)); }).find("expected elements of f32, f64, i32 or i64, got bool"),
            std::string::npos);
}

// Whatever the shape rule lets pass, the kernel computes; the rest is refused while the graph is defined.
TEST_F(PointwiseTest, WhatCanBeDefinedCanBeRun) {
  using Unary = Tensor (*)(const Operand&, std::string_view);
  using Binary = Tensor (*)(const Operand&, const Operand&, std::string_view);
  const Unary unary[] = {negative, abs, sign, square, sqrt, rsqrt, reciprocal, exp,       expm1,     log, log1p, tanh,
                         sigmoid,  sin, cos,  floor,  ceil, round, zeros_like, ones_like, relu.apply};
  const Binary binary[] = {add,           subtract,          multiply, divide,    maximum, minimum,    pow,
                           floordiv,      floormod,          equal,    not_equal, less,    less_equal, greater,
                           greater_equal, squared_difference};
  int defined = 0, refused = 0;
  for (const DType dtype : {f32, f64, i32, i64, u8, boolean}) {
    const Tensor x = input(Array::full(dtype, {3}, 1));
    const auto check = [&](const auto& define) {
      Tensor y;
      const std::string text = error_of([&] { y = define(); });
      if (y) {
        EXPECT_EQ(run(y).elements(), 3) << to_string(Operation(y));
        ++defined;
      } else {
        EXPECT_NE(text.find("expected elements of"), std::string::npos) << text;
        ++refused;
      }
    };
    for (const Unary op : unary) check([&] { return op(x, ""); });
    for (const Binary op : binary) check([&] { return op(x, x, ""); });
    check([&] { return select(equal(x, x), x, x); });
    check([&] { return clip_by_value(x, 0, 1); });
  }
  // Refused: 14 functions of floats for the four other types, 5 of numbers, 10 of two numbers and clip_by_value for u8
  // and bool.
  EXPECT_EQ(refused, 14 * 4 + 5 * 2 + 10 * 2 + 2);
  EXPECT_EQ(defined, 6 * (21 + 16 + 2) - refused);
}

}  // namespace
}  // namespace belfry
