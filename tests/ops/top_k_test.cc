#include "belfry/ops/top_k.h"

#include <limits>

#include "tests/ops/op_test.h"

namespace belfry {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

class TopKTest : public OpTest {
 protected:
  static Tensor matrix(std::initializer_list<float> values) {
    return constant(Array::of<float>({static_cast<std::int64_t>(values.size()) / 3, 3}, values));
  }
  static Tensor targets(std::initializer_list<std::int32_t> values) {
    return constant(Array::of<std::int32_t>({static_cast<std::int64_t>(values.size())}, values));
  }
};

TEST_F(TopKTest, ArgMaxFindsTheFirstLargestAlongAnyAxis) {
  const Tensor x = matrix({1, 5, 5, 7, 2, 3});
  EXPECT_EQ(values<std::int64_t>(argmax(x)), (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(values<std::int64_t>(argmax(x, 0)), (std::vector<std::int64_t>{1, 0, 0}));
  EXPECT_EQ(values<std::int64_t>(argmax(targets({3, 9, 4}), 0)), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(values<std::int64_t>(argmax(matrix({1, kNaN, 5}))), (std::vector<std::int64_t>{1}));
}

TEST_F(TopKTest, ArgMaxShapes) {
  const Tensor x = placeholder(f32, {kAny, 4, 5});
  EXPECT_EQ(argmax(x).shape(), Shape({kAny, 4}));
  EXPECT_EQ(argmax(x, 0).shape(), Shape({4, 5}));
  EXPECT_EQ(argmax(x).dtype(), i64);
  EXPECT_EQ(run(argmax(x), {{x, Array(f32, {0, 4, 5})}}).shape(), Shape({0, 4}));
  EXPECT_NE(error_of([&] { argmax(x, 3); }).find("expected an axis of [?, 4, 5], got 3"), std::string::npos);
  EXPECT_NE(error_of([&] {
              argmax(placeholder(f32, {2, 0}));
            }).find("expected at least one element along axis -1, got [2, 0]"),
            std::string::npos);
}

TEST_F(TopKTest, InTopKCountsWhatIsStrictlyLarger) {
  const Tensor x = matrix({1, 2, 3, 4, 4, 1, 3, 2, 1}), t = targets({1, 1, 2});
  EXPECT_EQ(bools(in_top_k(x, t, 1)), (std::vector<bool>{false, true, false}));  // a tie with the largest is in
  EXPECT_EQ(bools(in_top_k(x, t, 2)), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(bools(in_top_k(x, t, 5)), (std::vector<bool>{true, true, true}));
}

TEST_F(TopKTest, WhatIsNoClassOrNoNumberIsNotInTheTopK) {
  EXPECT_EQ(bools(in_top_k(matrix({1, 2, 3, 1, 2, 3, 1, kNaN, 3, 1, kNaN, 3}), targets({3, -1, 1, 2}), 1)),
            (std::vector<bool>{false, false, false, false}));
}

TEST_F(TopKTest, PredictionIncorrectIsAnErrorVector) {
  const Tensor x = matrix({1, 2, 3, 3, 2, 1}), wide = constant(Array::of<std::int64_t>({2}, {2, 1}));
  EXPECT_EQ(floats(prediction_incorrect(x, wide)), (std::vector<float>{0, 1}));
  EXPECT_EQ(floats(prediction_incorrect(x, wide, 2)), (std::vector<float>{0, 0}));
  const Tensor named = prediction_incorrect(x, wide, "incorrect");
  EXPECT_EQ(named.name(), "incorrect");
  EXPECT_EQ(named.dtype(), f32);
}

TEST_F(TopKTest, MistakesAreNamed) {
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const Tensor x = placeholder(f32, {kAny, 3}), t = placeholder(i32, {kAny});
  EXPECT_EQ(in_top_k(x, placeholder(i32, {8}), 1).shape(), Shape({8}));
  has(error_of([&] { in_top_k(x, t, 0); }), "expected k of 1 or more, got 0");
  has(error_of([&] { in_top_k(x, placeholder(f32, {kAny}), 1); }), "expected targets of type i32 or i64, got f32");
  has(error_of([&] { in_top_k(t, t, 1); }), "expected predictions of a floating type, got i32");
  has(error_of([&] { in_top_k(placeholder(f32, {3}), t, 1); }),
      "expected predictions of shape [rows, classes], got [3]");
  has(error_of([&] { in_top_k(placeholder(f32, {4, 3}), placeholder(i32, {5}), 1); }),
      "expected targets of shape [4], got [5]");
}

}  // namespace
}  // namespace belfry
