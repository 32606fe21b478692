#include "belfry/base/internal/axis.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace belfry {
namespace {

std::vector<std::string> texts(const Axis& axis) {
  std::vector<std::string> out;
  for (const double tick : axis.ticks) out.push_back(axis.text_of(tick));
  return out;
}

using Texts = std::vector<std::string>;

TEST(Axis, HasRoundNumbersInItsRange) {
  EXPECT_EQ(texts(make_axis(0, 1, {.margin = 0})), (Texts{"0", "0.2", "0.4", "0.6", "0.8", "1.0"}));
  EXPECT_EQ(texts(make_axis(0.07, 2.02, {})), (Texts{"0", "0.5", "1.0", "1.5", "2.0"}));
  EXPECT_EQ(texts(make_axis(-3, 4, {.margin = 0})), (Texts{"-2", "0", "2", "4"}));
  EXPECT_EQ(texts(make_axis(1e-5, 5e-5, {.margin = 0})), (Texts{"1e-05", "2e-05", "3e-05", "4e-05", "5e-05"}));
  EXPECT_EQ(texts(make_axis(0, 100'000, {.margin = 0})), (Texts{"0", "20k", "40k", "60k", "80k", "100k"}));
  EXPECT_EQ(texts(make_axis(0, 2e6, {.margin = 0})), (Texts{"0", "0.5M", "1M", "1.5M", "2M"}));
}

TEST(Axis, CountsInWholeNumbersIfAsked) {
  EXPECT_EQ(texts(make_axis(1, 3, {.whole = true, .margin = 0})), (Texts{"1", "2", "3"}));
  EXPECT_EQ(texts(make_axis(1, 20, {.whole = true, .margin = 0})), (Texts{"5", "10", "15", "20"}));
}

TEST(Axis, OfOneValueHasRoomAroundIt) {
  for (const double value : {0.0, 50.0, -0.001}) {
    const Axis axis = make_axis(value, value, {});
    EXPECT_LT(axis.low, value);
    EXPECT_GT(axis.high, value);
    EXPECT_DOUBLE_EQ(axis.place(value), 0.5);
  }
}

TEST(Axis, PlacesPowersOfTenEvenlyIfLogarithmic) {
  const Axis axis = make_axis(1e-6, 1e-1, {.logarithmic = true, .margin = 0});
  EXPECT_EQ(texts(axis), (Texts{"1e-06", "1e-05", "0.0001", "0.001", "0.01", "0.1"}));
  EXPECT_NEAR(axis.place(1e-5), 0.2, 1e-12);
  EXPECT_EQ(texts(make_axis(0.06, 3, {.logarithmic = true, .margin = 0})), (Texts{"0.1", "0.2", "0.5", "1", "2"}));
  EXPECT_EQ(make_axis(1e-300, 1e300, {.logarithmic = true}).ticks.size(), 6u);
}

TEST(Axis, HoldsTheLargestNumbers) {
  constexpr double kMost = std::numeric_limits<double>::max();
  const Axis axis = make_axis(-kMost, kMost, {});
  EXPECT_EQ(axis.place(-kMost), 0);
  EXPECT_EQ(axis.place(kMost), 1);
  EXPECT_NEAR(axis.place(0), 0.5, 1e-12);
  // Narrower than their rounding: no ticks, but a place.
  EXPECT_TRUE(std::isfinite(make_axis(1e18, 1e18 + 128, {}).place(1e18)));
}

}  // namespace
}  // namespace belfry
