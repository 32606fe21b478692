#include "belfry/ops/cumsum.h"

#include "belfry/ops/pointwise.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;
const std::vector<ShapeList> kCumsumShapes{{{2, 3}}, {{3, 2, 2}}, {{2, 0}}, {{0, 2}}};

const bool cumsum_rows[] = {
    gradient_row(
        "CumSum", {"CumSum"}, [](X x) { return cumsum(square(x[0]), 1); }, kCumsumShapes),
    gradient_row(
        "CumSumExclusive", {"CumSum"}, [](X x) { return cumsum(square(x[0]), 0, {.exclusive = true}); }, kCumsumShapes),
    gradient_row(
        "CumSumReverse", {"CumSum"}, [](X x) { return cumsum(square(x[0]), -1, {.reverse = true}); }, kCumsumShapes),
    gradient_row(
        "CumSumExclusiveReverse", {"CumSum"},
        [](X x) { return cumsum(square(x[0]), 0, {.exclusive = true, .reverse = true}); }, kCumsumShapes),
};

class CumsumTest : public OpTest {};

TEST_F(CumsumTest, SumsRunInBothDirectionsWithOrWithoutTheElement) {
  const Tensor x = input(Array::of<float>({3}, {1, 2, 3}));
  EXPECT_EQ(floats(cumsum(x)), (std::vector<float>{1, 3, 6}));
  EXPECT_EQ(floats(cumsum(x, 0, {.exclusive = true})), (std::vector<float>{0, 1, 3}));
  EXPECT_EQ(floats(cumsum(x, 0, {.reverse = true})), (std::vector<float>{6, 5, 3}));
  EXPECT_EQ(floats(cumsum(x, 0, {.exclusive = true, .reverse = true})), (std::vector<float>{5, 3, 0}));
  EXPECT_EQ(ints(cumsum(input(Array::of<std::int32_t>({2}, {2147483647, 1})))),
            (std::vector<std::int32_t>{2147483647, -2147483647 - 1}));
}

TEST_F(CumsumTest, LargeTensorsAgreeWithPlainLoopsAlongEveryAxis) {
  const Shape shape{40, 70, 130};
  Array x(f64, shape);
  for (std::int64_t i = 0; i < x.elements(); ++i) x.set_item(i, static_cast<double>(i * 7919 % 1009) - 500);
  const std::int64_t strides[] = {70 * 130, 130, 1};
  for (int axis = 0; axis < 3; ++axis) {
    const Array y = run(cumsum(input(x), axis)), single = run(cumsum(input(x.cast(f32)), axis));
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      const std::int64_t stride = strides[axis], k = i / stride % shape[axis];
      ASSERT_EQ(y.item(i), x.item(i) + (k == 0 ? 0 : y.item(i - stride))) << axis << " " << i;
      ASSERT_EQ(single.item(i), y.item(i)) << axis << " " << i;
    }
  }
}

TEST_F(CumsumTest, MistakesNameTheAxis) {
  const Tensor x = placeholder(f32, {kAny, 3}, "x");
  EXPECT_EQ(cumsum(x, 1).shape(), Shape({kAny, 3}));
  std::string text = error_of([&] { cumsum(x, 2); });
  EXPECT_NE(text.find("[cumsum] expected an axis in [-2, 2), got 2. Input: 'x' f32 [?, 3] (made at cumsum_test.cc:"),
            std::string::npos)
      << text;
  text = error_of([&] { cumsum(input(Array(boolean, {2})), 0, {}, "sums"); });
  EXPECT_NE(text.find("[CumSum 'sums'] expected elements of f32, f64, i32 or i64, got bool"), std::string::npos)
      << text;
}

}  // namespace
}  // namespace belfry
