#include "tools/component_summary.h"

#include <gtest/gtest.h>

#include <limits>

namespace belfry::tools {
namespace {

TEST(ComponentSummaryTest, ShowsWhatIsCommonAndTheRange) {
  ComponentSummary summary;
  EXPECT_EQ(summary.type(), "nothing");
  EXPECT_EQ(summary.values(), "no elements");
  summary.add(Array::of<float>({2, 1}, {1, -2}));
  EXPECT_EQ(summary.type(), "f32 [2, 1]");
  summary.add(Array::of<float>({3, 1}, {4, 0.5, std::numeric_limits<float>::infinity()}));
  EXPECT_EQ(summary.type(), "f32 [?, 1]");
  EXPECT_EQ(summary.values(), "-2 .. 4, mean 0.875, 1 NaN or infinite");
  summary.add(Array(3));
  EXPECT_EQ(summary.type(), "several dtypes with several ranks");
}

TEST(ComponentSummaryTest, OfNothingFinite) {
  ComponentSummary summary;
  summary.add(Array(std::numeric_limits<float>::quiet_NaN()));
  EXPECT_EQ(summary.values(), "none finite, 1 NaN or infinite");
}

}  // namespace
}  // namespace belfry::tools
