#include <gtest/gtest.h>

#include <cmath>

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

TEST(RandomKernels, BitsAreThoseOfTheScalarGenerator) {
  for (Isa isa : available_isas()) {
    for (std::int64_t n = 0; n <= 200; ++n) {
      std::vector<std::uint32_t> bits(static_cast<std::size_t>(n) + 1, 42u);
      fill_random_bits(kSource, bits.data(), n, isa);
      for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(bits[static_cast<std::size_t>(i)], word_of(i)) << i;
      EXPECT_EQ(bits.back(), 42u);
    }
  }
}

TEST(RandomKernels, BlockNumbersHave64Bits) {
  const std::int64_t begin = (std::int64_t{1} << 34) - 64;  // the block number's low word wraps after 64 elements
  RandomSource late = kSource;
  late.first_block = static_cast<std::uint64_t>(begin) / 4;
  for (Isa isa : available_isas()) {
    std::uint32_t bits[128];
    fill_random_bits(late, bits, 128, isa);
    for (int i = 0; i < 128; ++i) ASSERT_EQ(bits[i], word_of(begin + i)) << i;
  }
}

struct Fill {
  const char* name;
  void (*fill)(float* to, std::int64_t n, Isa isa);
};
const Fill kFills[] = {
    {"uniform", [](float* to, std::int64_t n, Isa isa) { fill_uniform(kSource, to, n, {-1.f, 3.f}, isa); }},
    {"normal", [](float* to, std::int64_t n, Isa isa) { fill_normal(kSource, to, n, {0.5f, 2.f}, isa); }},
    {"truncated", [](float* to, std::int64_t n, Isa isa) { fill_truncated_normal(kSource, to, n, {0.f, 1.f}, isa); }},
};

TEST(RandomKernels, AnElementDependsOnlyOnItsIndex) {
  constexpr std::int64_t n = 70001;
  for (const Fill& test : kFills) {
    std::vector<float> expected(n);
    {
      TeamScope team(1);
      test.fill(expected.data(), n, Isa::avx2);
    }
    for (Isa isa : available_isas()) {
      for (int threads : {1, 2}) {
        TeamScope team(threads);
        std::vector<float> values(n);
        test.fill(values.data(), n, isa);
        EXPECT_TRUE(same_bits(values, expected)) << test.name;
      }
      for (std::int64_t length = 0; length <= 140; ++length) {
        std::vector<float> values(static_cast<std::size_t>(length) + 1, -77.f);
        test.fill(values.data(), length, isa);
        EXPECT_EQ(values.back(), -77.f);
        values.pop_back();
        EXPECT_TRUE(same_bits(values, {expected.begin(), expected.begin() + length})) << test.name;
      }
    }
  }
}

TEST(RandomKernels, UniformNumbersAreTheUpper24Bits) {
  std::vector<float> values(1000);
  fill_uniform(kSource, values.data(), 1000, {});
  for (std::int64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(values[static_cast<std::size_t>(i)], static_cast<float>(word_of(i) >> 8) * 0x1p-24f);
  }
}

TEST(RandomKernels, UniformNumbersStayBelowTheUpperEnd) {
  std::vector<float> values(100000);  // a range of few floats, where rounding would reach the end
  fill_uniform(kSource, values.data(), 100000, {1.f, 1.f + 0x1p-22f});
  for (float x : values) ASSERT_TRUE(x >= 1.f && x < 1.f + 0x1p-22f);
}

TEST(RandomKernels, NormalNumbersFollowBoxAndMuller) {
  std::vector<float> values(1000);
  fill_normal(kSource, values.data(), 1000, {});
  for (std::int64_t i = 0; i < 1000; i += 2) {
    const double radius = std::sqrt(-2 * std::log(((word_of(i) >> 8) + 1) * 0x1p-24));
    const double angle = 2 * M_PI * word_of(i + 1) * 0x1p-32;
    ASSERT_NEAR(values[static_cast<std::size_t>(i)], radius * std::cos(angle), 2e-6);
    ASSERT_NEAR(values[static_cast<std::size_t>(i + 1)], radius * std::sin(angle), 2e-6);
  }
}

struct Moments {
  double mean = 0, variance = 0, kurtosis = 0, largest = 0;
};
Moments moments_of(const std::vector<float>& values) {
  Moments m;
  const auto n = static_cast<double>(values.size());
  for (float x : values) m.mean += x / n, m.largest = std::max<double>(m.largest, std::abs(x));
  for (float x : values) m.variance += (x - m.mean) * (x - m.mean) / n;
  for (float x : values) m.kurtosis += std::pow(x - m.mean, 4) / n / m.variance / m.variance;
  return m;
}

TEST(RandomKernels, NumbersHaveTheMomentsOfTheirDistribution) {
  std::vector<float> values(1 << 18);
  fill_normal(kSource, values.data(), 1 << 18, {});
  Moments m = moments_of(values);
  EXPECT_NEAR(m.mean, 0, 0.01);
  EXPECT_NEAR(m.variance, 1, 0.02);
  EXPECT_NEAR(m.kurtosis, 3, 0.06);
  fill_truncated_normal(kSource, values.data(), 1 << 18, {});
  m = moments_of(values);
  EXPECT_NEAR(m.mean, 0, 0.01);
  EXPECT_NEAR(m.variance, 0.7737413, 0.01);  // 1 - 4 phi(2) / (2 Phi(2) - 1)
  EXPECT_LE(m.largest, 2);
  EXPECT_GT(m.largest, 1.9999);
}

TEST(RandomKernels, TruncatedNormalInvertsTheDistributionFunction) {
  std::vector<float> values(1000);
  fill_truncated_normal(kSource, values.data(), 1000, {});
  for (std::int64_t i = 0; i < 1000; ++i) {
    const double u = ((word_of(i) >> 8) + 0.5) * 0x1p-23 - 1;
    ASSERT_NEAR(std::erf(values[static_cast<std::size_t>(i)] / M_SQRT2), u * std::erf(M_SQRT2), 1e-6);
  }
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
