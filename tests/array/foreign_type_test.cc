#include "belfry/array/internal/foreign_type.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "belfry/base/error.h"
#include "tests/support/errors.h"

namespace belfry {
namespace {

template <class T>
Array read(ForeignType type, std::initializer_list<T> values) {
  const Shape shape{static_cast<std::int64_t>(values.size())};
  return widened(type, shape, std::as_bytes(std::span(values.begin(), values.size())), "here");
}

// Every pattern of a small float against its definition: (1 + fraction) 2^(exponent - bias).
template <class T>
void expect_all_floats(ForeignType type, int exponent_bits, int fraction_bits, bool has_infinities) {
  const int top = (1 << exponent_bits) - 1, bias = (1 << (exponent_bits - 1)) - 1, fractions = 1 << fraction_bits;
  for (int bits = 0; bits <= std::numeric_limits<T>::max(); ++bits) {
    const float got = read<T>(type, {static_cast<T>(bits)}).template values<float>()[0];
    const int fraction = bits % fractions, exponent = bits / fractions % (top + 1);
    const bool negative = (bits >> (exponent_bits + fraction_bits)) != 0;
    double expected = exponent == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                                    : std::ldexp(fractions + fraction, exponent - bias - fraction_bits);
    if (has_infinities && exponent == top) expected = fraction == 0 ? INFINITY : NAN;
    if (!has_infinities && exponent == top && fraction == fractions - 1) expected = NAN;
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(got)) << bits;
    } else {
      ASSERT_EQ(got, negative ? -expected : expected) << bits;
    }
    ASSERT_EQ(std::signbit(got), negative) << bits;
  }
}

TEST(ForeignType, EveryHalfAndQuarterFloatHasItsValue) {
  expect_all_floats<std::uint16_t>(ForeignType::f16, 5, 10, true);
  expect_all_floats<std::uint16_t>(ForeignType::bf16, 8, 7, true);
  expect_all_floats<std::uint8_t>(ForeignType::f8_e4m3, 4, 3, false);
  expect_all_floats<std::uint8_t>(ForeignType::f8_e5m2, 5, 2, true);
}

TEST(ForeignType, IntegersKeepTheirValues) {
  EXPECT_TRUE(
      equal(read<std::int8_t>(ForeignType::i8, {-128, -1, 127}), Array::of<std::int32_t>({3}, {-128, -1, 127})));
  EXPECT_TRUE(equal(read<std::int16_t>(ForeignType::i16, {-32768, 5}), Array::of<std::int32_t>({2}, {-32768, 5})));
  EXPECT_TRUE(equal(read<std::uint16_t>(ForeignType::u16, {65535, 5}), Array::of<std::int32_t>({2}, {65535, 5})));
  EXPECT_TRUE(
      equal(read<std::uint32_t>(ForeignType::u32, {4294967295u, 5}), Array::of<std::int64_t>({2}, {4294967295, 5})));
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_TRUE(equal(read<std::uint64_t>(ForeignType::u64, {kMost, 5}), Array::of<std::int64_t>({2}, {kMost, 5})));
}

TEST(ForeignType, NumbersThatDoNotFitAreRefused) {
  EXPECT_EQ(error_of<FileError>([] { read<std::uint64_t>(ForeignType::u64, {1, std::uint64_t{1} << 63}); }),
            "here: expected unsigned numbers below 2^63, got 9223372036854775808. Belfry's integers are i32, i64 and "
            "u8.");
}

TEST(ForeignType, SizesThatDoNotFitAreKnown) {
  EXPECT_EQ(checked_bytes(ForeignType::f16, Shape{3, 5}), 30u);
  EXPECT_EQ(checked_bytes(ForeignType::u32, Shape{0, 5}), 0u);
  EXPECT_FALSE(checked_bytes(ForeignType::f8_e4m3, Shape{std::int64_t{1} << 62}).has_value())
      << "as f32 it would have 2^64 bytes";
}

}  // namespace
}  // namespace belfry
