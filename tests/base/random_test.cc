#include "belfry/base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

namespace belfry {
namespace {

// The vectors that the authors of Philox publish with it for 4x32, 10 rounds.
TEST(Philox, GivesThePublishedVectors) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, IsPhiloxUnderTheSeedBlockAfterBlock) {
  RandomStream stream(0x123456789abcdef0ull);
  for (std::uint32_t block = 0; block < 3; ++block)
    for (std::uint32_t expected : philox({block, 0, 0, 0}, {0x9abcdef0, 0x12345678}))
      EXPECT_EQ(stream.bits(), expected);
}

TEST(RandomStream, UniformNumbersFillTheirInterval) {
  RandomStream stream(1);
  constexpr int kCount = 20000;
  std::vector<int> tenths(10);
  for (int i = 0; i < kCount; ++i) {
    const double x = stream.uniform();
    ASSERT_GE(x, 0.0);
    ASSERT_LT(x, 1.0);
    ++tenths[static_cast<std::size_t>(x * 10)];
  }
  for (int count : tenths) EXPECT_NEAR(count, kCount / 10, 5 * std::sqrt(kCount * 0.09));  // five deviations
}

TEST(RandomStream, NormalNumbersHaveMeanZeroAndDeviationOne) {
  RandomStream stream(2);
  constexpr int kCount = 20000;
  double sum = 0, squares = 0, fourth = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = stream.normal();
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  EXPECT_NEAR(sum / kCount, 0, 5 / std::sqrt(kCount));
  EXPECT_NEAR(squares / kCount, 1, 5 * std::sqrt(2.0 / kCount));
  EXPECT_NEAR(fourth / kCount, 3, 5 * std::sqrt(96.0 / kCount));
}

TEST(RandomStream, BelowReachesEachValueAndNotTheLimit) {
  RandomStream stream(3);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 500; ++i) seen.insert(stream.below(7));
  EXPECT_EQ(seen, (std::set<std::uint64_t>{0, 1, 2, 3, 4, 5, 6}));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(stream.below(1), 0u);
  // Three quarters of 2^64: without rejection the lowest third would come up half of the time.
  constexpr std::uint64_t limit = (1ull << 63) + (1ull << 62);
  int lower = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t value = stream.below(limit);
    ASSERT_LT(value, limit);
    lower += value < limit / 3;
  }
  EXPECT_NEAR(lower, 1000, 5 * std::sqrt(3000 * 2.0 / 9));
}

TEST(Seeds, DependOnEveryArgumentAndOnTheirOrder) {
  EXPECT_NE(mix_seed(1, 2), mix_seed(2, 1));
  EXPECT_NE(mix_seed(0, 0), mix_seed(0, 1));
  std::set<std::uint64_t> seen;
  for (std::uint64_t a = 0; a < 100; ++a)
    for (std::uint64_t b = 0; b < 100; ++b) seen.insert(mix_seed(a, b));
  EXPECT_EQ(seen.size(), 10000u);
  EXPECT_NE(seed_of("conv0/W"), seed_of("conv1/W"));
  EXPECT_EQ(seed_of("conv0/W"), seed_of(std::string("conv0/") + "W"));
}

}  // namespace
}  // namespace belfry
