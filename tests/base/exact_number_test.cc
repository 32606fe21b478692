// Numbers that go through text and come back.
#include "belfry/base/internal/exact_number.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/support/errors.h"

namespace belfry {
namespace {

TEST(ExactNumberTest, ReadsBackToTheSameBits) {
  using Limits = std::numeric_limits<double>;
  for (const double value : {0., -0., 0.1, -1. / 3, 1e300, 5e-324, 1e-310, Limits::max(), Limits::min(),
                             Limits::infinity(), -Limits::infinity()})
    EXPECT_EQ(std::bit_cast<std::uint64_t>(exact_number(exact_text(value))), std::bit_cast<std::uint64_t>(value))
        << value;
  EXPECT_TRUE(std::isnan(exact_number(exact_text(Limits::quiet_NaN()))));
  EXPECT_TRUE(std::isnan(exact_number(exact_text(-Limits::quiet_NaN()))));
}

TEST(ExactNumberTest, AnythingElseIsAnError) {
  for (const char* text : {"", " 1", "1 ", "one", "1,5", "0x10"})
    EXPECT_TRUE(contains(error_of([&] { exact_number(text); }), "[number] expected a number, got \"")) << text;
}

}  // namespace
}  // namespace belfry
