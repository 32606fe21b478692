#include "belfry/array/internal/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "belfry/array/array.h"

namespace belfry {
namespace {

template <class T>
class ConvertToIntegers : public testing::Test {};
using Integers = testing::Types<std::int32_t, std::int64_t, std::uint8_t>;
TYPED_TEST_SUITE(ConvertToIntegers, Integers);

template <class To, class From>
void check_ends() {
  using Limits = std::numeric_limits<To>;
  constexpr From infinity = std::numeric_limits<From>::infinity();
  const From beyond = std::ldexp(From(1), Limits::digits);  // the first that does not fit
  EXPECT_EQ((convert<To>(std::numeric_limits<From>::quiet_NaN())), 0);
  EXPECT_EQ((convert<To>(infinity)), Limits::max());
  EXPECT_EQ((convert<To>(-infinity)), Limits::min());
  EXPECT_EQ((convert<To>(std::numeric_limits<From>::max())), Limits::max());
  EXPECT_EQ((convert<To>(std::numeric_limits<From>::lowest())), Limits::min());
  EXPECT_EQ((convert<To>(beyond)), Limits::max());
  const From last = std::nextafter(beyond, From(0)), low = static_cast<From>(Limits::min());
  EXPECT_EQ((convert<To>(last)), static_cast<To>(last));
  EXPECT_EQ((convert<To>(low)), Limits::min());
  EXPECT_EQ((convert<To>(std::nextafter(low, -infinity))), Limits::min());
  EXPECT_EQ((convert<To>(std::nextafter(low, infinity))), static_cast<To>(std::nextafter(low, infinity)));
  for (const From x : {From(0), From(-0.0), From(0.99), From(1), From(2.5), From(100.9)})
    EXPECT_EQ((convert<To>(x)), static_cast<To>(x)) << x;
  EXPECT_EQ((convert<To>(From(-2.7))), std::is_signed_v<To> ? static_cast<To>(-2) : 0);
}

TYPED_TEST(ConvertToIntegers, GoTowardsZeroAndStopAtTheEnds) {
  check_ends<TypeParam, float>();
  check_ends<TypeParam, double>();
}

TEST(Convert, AnythingButZeroIsTrue) {
  EXPECT_TRUE(convert<bool>(std::nan("")));
  EXPECT_TRUE(convert<bool>(-0.25f));
  EXPECT_FALSE(convert<bool>(-0.f));
}

TEST(Convert, IntegersKeepTheirLowBits) {
  EXPECT_EQ(convert<std::uint8_t>(std::int32_t{300}), 44);
  EXPECT_EQ(convert<std::int32_t>((std::int64_t{1} << 40) + 7), 7);
}

TEST(Array, ValuesThatDoNotFitTheTypeBecomeItsEnds) {
  const double nan = std::nan("");
  EXPECT_EQ(Array::full(u8, {}, 300).item(), 255);
  EXPECT_EQ(Array::full(u8, {}, -1).item(), 0);
  EXPECT_EQ(Array::full(i32, {}, nan).item(), 0);
  EXPECT_EQ(Array::full(i32, {}, 1e20).item(), 2147483647);
  EXPECT_EQ(Array::full(i64, {}, -1e20).item(), -9223372036854775808.0);
  Array a(i32, {1});
  a.set_item(0, nan);
  EXPECT_EQ(a.item(), 0);
  const Array cast = Array::of<float>({4}, {-1e10f, NAN, 2.9f, 1e10f}).cast(i32);
  EXPECT_EQ(cast.item(0), -2147483648.0);
  EXPECT_EQ(cast.item(1), 0);
  EXPECT_EQ(cast.item(2), 2);
  EXPECT_EQ(cast.item(3), 2147483647);
}

}  // namespace
}  // namespace belfry
