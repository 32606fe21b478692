#include "belfry/ops/unique.h"

#include <limits>
#include <map>

#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using Longs = std::vector<std::int64_t>;

class UniqueTest : public OpTest {
 protected:
  Longs longs(const Tensor& t, const Feeds& feeds = {}) { return values<std::int64_t>(t, feeds); }
};

TEST_F(UniqueTest, ValuesComeInTheOrderTheyAppearAndAreFollowedByZeros) {
  const UniqueCounts u = unique_with_counts(input(Array::of<std::int32_t>({6}, {7, 3, 7, 7, -1, 3})));
  EXPECT_EQ(ints(u.values), (std::vector<std::int32_t>{7, 3, -1, 0, 0, 0}));
  EXPECT_EQ(longs(u.index), (Longs{0, 1, 0, 0, 2, 1}));
  EXPECT_EQ(longs(u.counts), (Longs{3, 2, 1, 0, 0, 0}));
  EXPECT_EQ(longs(u.size), (Longs{3}));
  EXPECT_EQ(longs(unique_with_counts(input(Array(f32, {0}))).size), (Longs{0}));
}

TEST_F(UniqueTest, ManyValuesAgreeWithAMap) {
  constexpr std::int64_t n = 5000;
  Array x(f32, {n});
  for (std::int64_t i = 0; i < n; ++i) x.set_item(i, static_cast<double>(i * 7919 % 613) / 8);
  const Tensor any = placeholder(f32, {kAny});
  const UniqueCounts u = unique_with_counts(any);
  EXPECT_EQ(u.counts.shape(), Shape({kAny}));
  const Array values = run(u.values, {{any, x}});
  const Longs index = longs(u.index, {{any, x}}), counts = longs(u.counts, {{any, x}});
  std::map<double, std::int64_t> wanted;
  for (std::int64_t i = 0; i < n; ++i) {
    ++wanted[x.item(i)];
    ASSERT_EQ(values.item(index[static_cast<std::size_t>(i)]), x.item(i));
  }
  ASSERT_EQ(longs(u.size, {{any, x}})[0], static_cast<std::int64_t>(wanted.size()));
  for (std::size_t i = 0; i < wanted.size(); ++i)
    ASSERT_EQ(counts[i], wanted[values.item(static_cast<std::int64_t>(i))]);
}

TEST_F(UniqueTest, NotANumberIsOneValueAndAMatrixIsNoVector) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(longs(unique_with_counts(input(Array::of<float>({4}, {nan, 1, nan, 1}))).counts), (Longs{2, 2, 0, 0}));
  const std::string text = error_of([&] { unique_with_counts(input(counting({2, 2})), "u"); });
  EXPECT_NE(text.find("[UniqueWithCounts 'u'] expected a vector, got [2, 2]. Use reshape()"), std::string::npos)
      << text;
}

}  // namespace
}  // namespace belfry
