// stack, unstack and tile.
#include "belfry/ops/array_ops.h"
#include "belfry/ops/pointwise.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;

const bool stacking_rows[] = {
    gradient_row("Stack", {"Concat", "ExpandDims"}, [](X x) { return stack({square(x[0]), x[1], x[0]}, 1); },
                 {{{2, 3}, {2, 3}}, {{2}, {2}}, {{0, 3}, {0, 3}}}),
    gradient_row("Unstack", {"Split", "Squeeze"},
                 [](X x) {
                   const Tensors y = unstack(square(x[0]), -1);
                   return y[0] * y[2];
                 },
                 {{{2, 3}}, {{3}}, {{0, 3}}}, {.unknown_dimensions = false}),
    gradient_row("Tile", {"Tile", "TileGrad"}, [](X x) { return tile(square(x[0]), {2, 3}); },
                 {{{2, 3}}, {{1, 2}}, {{0, 3}}, {{1, 1}}}),
    gradient_row("TileSomeAxes", {"Tile", "TileGrad"}, [](X x) { return tile(square(x[0]), {1, 3, 1}); },
                 {{{2, 3, 2}}, {{2, 1, 2}}}),
    gradient_row("TileToNothing", {"Tile", "TileGrad"}, [](X x) { return tile(square(x[0]), {0, 2}); }, {{{2, 3}}}),
};

class StackingTest : public OpTest {
 protected:
  template <class F>
  void expect_error(F&& f, const char* wanted) {
    const std::string text = error_of(f);
    EXPECT_NE(text.find(wanted), std::string::npos) << text;
    EXPECT_NE(text.find("(made at stacking_test.cc:"), std::string::npos) << text;
  }
};

TEST_F(StackingTest, NumbersTakeTheTypeOfTheTensors) {
  const Tensor n = placeholder(i64, {}), sizes = stack({2, n, 3});
  EXPECT_EQ(sizes.dtype(), i64);
  EXPECT_EQ(values<std::int64_t>(sizes, {{n, Array(std::int64_t{7})}}), (std::vector<std::int64_t>{2, 7, 3}));
  EXPECT_EQ(run(reshape(input(counting({2, 3})), stack({n, 2})), {{n, Array(std::int64_t{3})}}).shape(), Shape({3, 2}));
}

TEST_F(StackingTest, StackAndUnstackAreInverse) {
  const Tensor a = input(counting({2, 2})), b = a + 10.f;
  EXPECT_EQ(floats(stack({a, b})), (std::vector<float>{0, 1, 2, 3, 10, 11, 12, 13}));
  EXPECT_EQ(floats(stack({a, b}, -1)), (std::vector<float>{0, 10, 1, 11, 2, 12, 3, 13}));
  EXPECT_EQ(stack({a, b}, 1).shape(), Shape({2, 2, 2}));
  const Tensors parts = unstack(stack({a, b}, 1), 1);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(floats(parts[1]), floats(b));
  EXPECT_TRUE(unstack(input(Array(f32, {0, 2}))).empty());
  expect_error([&] { stack({a, input(counting({2}))}); }, "[stack] expected tensors of one shape, got [2, 2] and [2]");
  expect_error([&] { stack({a, b}, 3); }, "[stack] expected an axis in [-3, 3), got 3");
  expect_error([&] { unstack(placeholder(f32, {kAny, 2}, "x")); },
               "[unstack] expected a known size along axis 0, got 'x' [?, 2]");
  EXPECT_EQ(error_of([&] { stack(Tensors{}); }), "[stack] expected at least one tensor, got none");
}

TEST_F(StackingTest, TileRepeatsAnyTypeAlongEveryAxis) {
  EXPECT_EQ(ints(tile(input(counting({2}, i32)), {3})), (std::vector<std::int32_t>{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(tile(placeholder(f32, {kAny, 3}), {2, 2}).shape(), Shape({kAny, 6}));
  const Shape shape{3, 1, 50, 7};
  const Ints multiples{2, 5, 3, 1};
  const Array x = counting(shape), y = run(tile(input(x), multiples));
  ASSERT_EQ(y.shape(), Shape({6, 5, 150, 7}));
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    const std::int64_t d = i % 7, c = i / 7 % 150, a = i / 7 / 150 / 5;
    ASSERT_EQ(y.item(i), static_cast<double>((a % 3 * 50 + c % 50) * 7 + d)) << i;
  }
  const Tensor one = input(counting({2}));
  EXPECT_EQ(floats(gradients({tile(one, {40'000})}, {one})[0]), (std::vector<float>{40'000, 40'000}));
  expect_error([&] { tile(one, {1, 2}, "t"); },
               "[Tile 't'] expected a multiple for each of the 1 dimensions of [2], got 2");
  expect_error([&] { tile(one, {-1}); }, "expected multiples of 0 or more, got -1 for axis 0");
  expect_error([&] { tile(placeholder(f32, {2, 2, 2, 2, 2}), {2, 2, 2, 2, 2}); },
               "expected at most 8 dimensions, those that are repeated counted twice, got 10");
}

}  // namespace
}  // namespace belfry
