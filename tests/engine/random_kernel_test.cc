#include <gtest/gtest.h>

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/random/random_team.h"
#include "tests/engine/kernel_testing.h"

namespace belfry {
namespace {

const PhiloxKey kKey = {0x12345678u, 0x9ABCDEF0u};
constexpr std::uint64_t kStep = 0x0000000500000007ull;
const RandomSource kSource = random_source(kKey, kStep);

std::uint32_t word_of(std::int64_t i) {
  const auto block = static_cast<std::uint64_t>(i) / 4;
  const PhiloxBlock counter = {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                               static_cast<std::uint32_t>(kStep), static_cast<std::uint32_t>(kStep >> 32)};
  return philox(counter, kKey)[static_cast<std::size_t>(i % 4)];
}

TEST(Dropout, KeepsByTheElementsNumberAndTheGradientUsesTheSameMask) {
  constexpr std::int64_t n = 40003;
  const auto x = random_values(n, 1, 1, 2), dy = random_values(n, 2, 1, 2);
  for (Isa isa : available_isas()) {
    for (int threads : {1, 2}) {
      TeamScope team(threads);
      std::vector<float> y(x.size()), dx = dy;
      apply_dropout(kSource, {x.data(), y.data(), n, 0.25f}, isa);
      apply_dropout(kSource, {dx.data(), dx.data(), n, 0.25f}, isa);
      std::int64_t kept = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const bool keep = (word_of(static_cast<std::int64_t>(i)) >> 8) < 3u << 22;
        ASSERT_FLOAT_EQ(y[i], keep ? x[i] / 0.75f : 0.f);
        ASSERT_FLOAT_EQ(dx[i], keep ? dy[i] / 0.75f : 0.f);
        kept += keep;
      }
      EXPECT_NEAR(static_cast<double>(kept) / n, 0.75, 0.01);
    }
  }
}

TEST(Dropout, BlockNumbersHave64Bits) {
  const std::int64_t begin = (std::int64_t{1} << 34) - 64;  // the block number's low word wraps after 64 elements
  RandomSource late = kSource;
  late.first_block = static_cast<std::uint64_t>(begin) / 4;
  const std::vector<float> x(128, 1.f);
  for (Isa isa : available_isas()) {
    std::vector<float> y(x.size());
    apply_dropout(late, {x.data(), y.data(), 128, 0.5f}, isa);
    for (int i = 0; i < 128; ++i)
      ASSERT_EQ(y[static_cast<std::size_t>(i)], word_of(begin + i) >> 31 == 0 ? 2.f : 0.f) << i;
  }
}

TEST(Dropout, EveryLengthIsThePartOfALongerOne) {
  const auto x = random_values(200, 4, 1, 2);
  std::vector<float> whole(x.size());
  apply_dropout(kSource, {x.data(), whole.data(), 200, 0.5f});
  for (Isa isa : available_isas())
    for (std::int64_t length = 0; length < 200; ++length) {
      std::vector<float> y(static_cast<std::size_t>(length) + 1, -77.f);
      apply_dropout(kSource, {x.data(), y.data(), length, 0.5f}, isa);
      EXPECT_EQ(y.back(), -77.f);
      y.pop_back();
      EXPECT_TRUE(same_bits(y, {whole.begin(), whole.begin() + length})) << length;
    }
}

TEST(Dropout, RateZeroKeepsAllAndRateOneNone) {
  const auto x = random_values(100, 3, 1, 2);
  std::vector<float> y(100);
  apply_dropout(kSource, {x.data(), y.data(), 100, 0.f});
  EXPECT_TRUE(same_bits(x, y));
  apply_dropout(kSource, {x.data(), y.data(), 100, 1.f});
  EXPECT_EQ(y, std::vector<float>(100));
}

}  // namespace
}  // namespace belfry
