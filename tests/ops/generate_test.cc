#include "belfry/ops/generate.h"

#include "belfry/ops/pointwise.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

class GenerateTest : public OpTest {};

TEST_F(GenerateTest, OneHotPutsANumberAtEachIndexAlongANewAxis) {
  const Tensor x = input(Array::of<std::int32_t>({2, 2}, {0, 2, 1, -1}));
  EXPECT_EQ(floats(one_hot(x, 3)), (std::vector<float>{1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(ints(one_hot(x, 3, {.on = 5, .off = -1, .dtype = i32, .axis = 0})),
            (std::vector<std::int32_t>{5, -1, -1, -1, -1, -1, 5, -1, -1, 5, -1, -1}));
  EXPECT_EQ(one_hot(placeholder(i64, {kAny}), 7, {.axis = 0}).shape(), Shape({7, kAny}));
  EXPECT_EQ(run(one_hot(input(std::int64_t{1}), 3, {.dtype = boolean})).shape(), Shape({3}));
  EXPECT_EQ(run(one_hot(input(Array(i32, {0})), 4)).shape(), Shape({0, 4}));
  std::string text = error_of([&] { one_hot(placeholder(f32, {2}, "x"), 3, {}, "hot"); });
  EXPECT_NE(text.find("[OneHot 'hot'] expected indices of type i32 or i64, got f32. Use cast()"), std::string::npos)
      << text;
  text = error_of([&] { one_hot(x, 3, {.axis = 3}); });
  EXPECT_NE(text.find("[one_hot] expected an axis in [-3, 3), got 3"), std::string::npos) << text;
  EXPECT_NE(error_of([&] { one_hot(x, -3); }).find("expected a depth of 0 or more, got -3"), std::string::npos);
}

TEST_F(GenerateTest, RangesStopBeforeTheirLimit) {
  EXPECT_EQ(ints(range({.limit = 3})), (std::vector<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(floats(range({.start = 1, .limit = 0, .delta = -0.25, .dtype = f32})),
            (std::vector<float>{1, 0.75f, 0.5f, 0.25f}));
  EXPECT_EQ(ints(range({.start = 3, .limit = 18, .delta = 5})), (std::vector<std::int32_t>{3, 8, 13}));
  EXPECT_EQ(range({.start = 3, .limit = 1}).shape(), Shape({0}));
  const Array large = run(range({.start = -5, .limit = 99'995, .dtype = i64}));
  for (std::int64_t i = 0; i < large.elements(); ++i) ASSERT_EQ(large.item(i), static_cast<double>(i - 5));
  EXPECT_NE(error_of([&] {
              range({.limit = 1, .delta = 0});
            }).find("[range] expected finite bounds and a delta other than 0, got 0 to 1 by 0 (made at generate_test"),
            std::string::npos);
}

TEST_F(GenerateTest, AShapeIsThatOfTheStep) {
  const Tensor x = placeholder(f32, {kAny, 3});
  const Tensor shape = shape_of(exp(x));
  EXPECT_EQ(shape.shape(), Shape({2}));
  EXPECT_EQ(values<std::int64_t>(shape, {{x, counting({4, 3})}}), (std::vector<std::int64_t>{4, 3}));
  EXPECT_EQ(values<std::int64_t>(shape, {{x, counting({0, 3})}}), (std::vector<std::int64_t>{0, 3}));
  EXPECT_TRUE(values<std::int64_t>(shape_of(input(1.f))).empty());
}

}  // namespace
}  // namespace belfry
