#include "tools/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace belfry::tools {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

Statistics of(const Array& array) { return statistics_of({{"x", array}}).at("x"); }

TEST(Statistics, AreThoseOfTheFiniteValues) {
  const Statistics s = of(Array::of<float>({8}, {1, kNan, -3, 0, kInf, 2, -0.f, -kInf}));
  EXPECT_EQ(s.finite, 5);
  EXPECT_EQ(s.nans, 1);
  EXPECT_EQ(s.infinities, 2);
  EXPECT_EQ(s.zeros, 2);
  EXPECT_EQ(s.min, -3);
  EXPECT_EQ(s.max, 2);
  EXPECT_EQ(s.mean, 0);
  EXPECT_DOUBLE_EQ(s.standard_deviation(), std::sqrt(14.0 / 5));
}

TEST(Statistics, HaveNoRangeWithoutAFiniteValue) {
  const std::vector<Array> arrays{Array::of<float>({2}, {kNan, kInf}), Array(f64, {0, 3}), Array(i32, {0})};
  for (const Array& array : arrays) {
    const Statistics s = of(array);
    EXPECT_EQ(s.finite, 0);
    EXPECT_TRUE(std::isnan(s.min) && std::isnan(s.max) && std::isnan(s.mean) && std::isnan(s.standard_deviation()));
  }
}

TEST(Statistics, SeeEveryElementOfLargeTensors) {
  // Longer than what one thread takes at a time, and no multiple of anything.
  constexpr std::int64_t kSize = 1'000'003;
  Array array(f32, {kSize});
  const auto x = array.values<float>();
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 1000) + 1000.f;
  x[kSize - 1] = 7000;
  x[kSize / 2] = kNan;
  const Statistics s = of(array);
  double sum = 0, squares = 0;
  for (const float v : x) sum += std::isnan(v) ? 0 : v;
  const double mean = sum / (kSize - 1);
  for (const float v : x) squares += std::isnan(v) ? 0 : (v - mean) * (v - mean);
  EXPECT_EQ(s.finite, kSize - 1);
  EXPECT_EQ(s.nans, 1);
  EXPECT_EQ(s.min, 1000);
  EXPECT_EQ(s.max, 7000);
  // Whole numbers below 2^53: the sums are exact, and each of the divisions rounds once.
  EXPECT_NEAR(s.mean, mean, mean * 1e-12);
  EXPECT_NEAR(s.squares, squares, squares * 1e-9);
}

TEST(Statistics, DoNotDependOnTheValuesDistanceFromZero) {
  // With sums of squares instead of deviations, nothing would be left of the deviation.
  Array array(f64, {100'000});
  const auto x = array.values<double>();
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1e9 + (i % 2 == 0 ? 0.5 : -0.5);
  EXPECT_NEAR(of(array).standard_deviation(), 0.5, 1e-6);
}

TEST(Statistics, AreThereForEveryType) {
  EXPECT_EQ(of(Array::of<std::int64_t>({3}, {-5, 0, 11})).mean, 2);
  EXPECT_EQ(of(Array::of<std::int32_t>({3}, {-5, 0, 11})).min, -5);
  EXPECT_EQ(of(Array::of<std::uint8_t>({2}, {255, 1})).max, 255);
  EXPECT_EQ(of(Array::of<double>({2}, {1e300, -1e300})).max, 1e300);
  const Statistics s = of(Array::of<bool>({4}, {true, false, true, true}));
  EXPECT_EQ(s.mean, 0.75);
  EXPECT_EQ(s.zeros, 1);
}

}  // namespace
}  // namespace belfry::tools
