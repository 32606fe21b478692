#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "belfry/engine/cpu/pointwise/bf16_simd.h"
#include "tests/engine/bf16_testing.h"
#include "tests/engine/kernel_testing.h"

namespace belfry {
namespace {

// By every instruction set that there is, which must agree in every bit.
std::vector<float> rounded(const std::vector<float>& x) {
  std::vector<float> y(x.size(), -1.f);
  const auto n = static_cast<std::int64_t>(x.size());
  avx2::kBf16.round(x.data(), y.data(), n);
  for (const Isa isa : available_isas()) {
    std::vector<float> other(x.size() + 1, 5.f);
    by_isa(isa, avx2::kBf16, avx512::kBf16).round(x.data(), other.data(), n);
    EXPECT_EQ(other.back(), 5.f) << "written behind the end";
    other.pop_back();
    EXPECT_TRUE(same_bits(y, other));
  }
  return y;
}
std::uint32_t rounded(std::uint32_t bits) {
  return std::bit_cast<std::uint32_t>(rounded(std::vector{std::bit_cast<float>(bits)})[0]);
}

TEST(RoundToBf16, TiesGoToTheEvenNeighbour) {
  EXPECT_EQ(rounded(0x3F808000u), 0x3F800000u);  // halfway between 1 and the next: 1 is even
  EXPECT_EQ(rounded(0x3F818000u), 0x3F820000u);
  EXPECT_EQ(rounded(0xBF818000u), 0xBF820000u);
  EXPECT_EQ(rounded(0x3F808001u), 0x3F810000u);  // just above
  EXPECT_EQ(rounded(0x3F817FFFu), 0x3F810000u);  // just below
  EXPECT_EQ(rounded(0x3FFF8000u), 0x40000000u);  // up into the next power of two
}

TEST(RoundToBf16, WhatIsNoOrdinaryNumberKeepsItsKind) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(rounded(std::vector{kInfinity, -kInfinity}), (std::vector{kInfinity, -kInfinity}));
  EXPECT_EQ(rounded(0x7F7FFFFFu), 0x7F800000u);  // the largest f32 is nearer to 2^128
  EXPECT_EQ(rounded(0x7F7F7FFFu), 0x7F7F0000u);
  for (const std::uint32_t nan : {0x7F800001u, 0xFF80FFFFu, 0x7FC00000u, 0x7FFFFFFFu}) {
    const std::uint32_t bits = rounded(nan);
    EXPECT_TRUE(std::isnan(std::bit_cast<float>(bits))) << std::hex << nan;
    EXPECT_EQ(bits & 0x8000FFFFu, nan & 0x80000000u) << std::hex << nan;  // its sign, and nothing in the lower half
  }
  EXPECT_EQ(rounded(0x80000000u), 0x80000000u);  // -0
}

TEST(RoundToBf16, SubnormalsBecomeZeroOfTheirSign) {
  EXPECT_EQ(rounded(0x007FFFFFu), 0u);
  EXPECT_EQ(rounded(0x80000001u), 0x80000000u);
  EXPECT_EQ(rounded(0x00800000u), 0x00800000u);  // the smallest normal number stays
}

TEST(RoundToBf16, NumbersInRowsOfEveryLengthAreRounded) {
  for (std::int64_t n = 0; n < 40; ++n) {
    const std::vector<float> x = random_values(n, 7, -1e3, 1e3), y = rounded(x);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i], bf16_of(x[i])) << x[i];
  }
}

}  // namespace
}  // namespace belfry
