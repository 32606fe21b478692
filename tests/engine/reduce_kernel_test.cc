#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/reduce/reduce_team.h"
#include "tests/engine/kernel_testing.h"
#include "tests/support/rounding.h"

namespace belfry {
namespace {

constexpr ReduceOp kOps[] = {ReduceOp::sum, ReduceOp::sum_squares, ReduceOp::max, ReduceOp::min};
constexpr double kInf = std::numeric_limits<double>::infinity();

double joined(ReduceOp op, double total, double x) {
  switch (op) {
    case ReduceOp::sum: return total + x;
    case ReduceOp::sum_squares: return total + x * x;
    case ReduceOp::max: return std::max(total, x);
    case ReduceOp::min: return std::min(total, x);
  }
  return 0;
}

double start_of(ReduceOp op) { return op == ReduceOp::max ? -kInf : op == ReduceOp::min ? kInf : 0; }

void expect_reduced(Isa isa, ReduceOp op, std::int64_t outer, std::int64_t axis, std::int64_t inner) {
  const auto x = random_values(outer * axis * inner, 1, -1, 1);
  std::vector<float> y(static_cast<std::size_t>(outer * inner) + 1, -9.f);  // one more, which must stay
  reduce_axis({op, x.data(), y.data(), outer, axis, inner, 0.5f}, isa);
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < inner; ++i) {
      double expected = start_of(op);
      for (std::int64_t a = 0; a < axis; ++a) {
        expected = joined(op, expected, x[static_cast<std::size_t>((o * axis + a) * inner + i)]);
      }
      const double tolerance = 1e-6 * (1 + std::sqrt(static_cast<double>(axis)));
      const float got = y[static_cast<std::size_t>(o * inner + i)];
      if (std::isinf(expected)) {
        ASSERT_EQ(got, expected);
      } else {
        ASSERT_NEAR(got, expected * 0.5, tolerance) << outer << " x " << axis << " x " << inner;
      }
    }
  }
  EXPECT_EQ(y.back(), -9.f);
}

TEST(ReduceKernels, MatchAtEveryShape) {
  for (Isa isa : available_isas()) {
    for (ReduceOp op : kOps) {
      for (std::int64_t n = 0; n <= 70; ++n) {
        expect_reduced(isa, op, 3, n, 1);
        expect_reduced(isa, op, 1, 5, n);
        expect_reduced(isa, op, 2, n, 3);
        expect_reduced(isa, op, 2, 70, n);
      }
    }
  }
}

TEST(ReduceKernels, MatchOnLargeShapesWithOneAndTwoThreads) {
  for (int threads : {1, 2}) {
    TeamScope team(threads);
    for (Isa isa : available_isas()) {
      for (ReduceOp op : {ReduceOp::sum, ReduceOp::max}) {
        expect_reduced(isa, op, 1, 100003, 1);  // all of a tensor
        expect_reduced(isa, op, 300, 301, 1);   // rows
        expect_reduced(isa, op, 1, 40001, 3);   // narrow columns, cut along the axis
        expect_reduced(isa, op, 1, 2100, 64);
        expect_reduced(isa, op, 1, 33, 5003);  // wide columns, cut across
        expect_reduced(isa, op, 5, 100, 300);
        expect_reduced(isa, op, 1, 200, 1000);
      }
    }
  }
}

TEST(ReduceKernels, TheSameTeamGivesTheSameBits) {
  TeamScope team(2);
  const auto x = random_values(200000, 2);
  for (std::int64_t inner : {1, 8, 2000}) {
    std::vector<float> first(static_cast<std::size_t>(inner)), second = first;
    for (float* y : {first.data(), second.data()}) {
      reduce_axis({.op = ReduceOp::sum, .input = x.data(), .output = y, .axis = 200000 / inner, .inner = inner});
    }
    EXPECT_TRUE(same_bits(first, second));
  }
}

TEST(ReduceKernels, LongSumsStayAccurate) {
  const std::int64_t n = 1 << 22;  // a plain f32 sum of these would lose three digits
  const std::vector<float> x(static_cast<std::size_t>(n), 0.1f);
  for (Isa isa : available_isas()) {
    for (std::int64_t inner : {1, 2, 1024}) {
      std::vector<float> y(static_cast<std::size_t>(inner));
      reduce_axis({.op = ReduceOp::sum, .input = x.data(), .output = y.data(), .axis = n / inner, .inner = inner}, isa);
      const double exact = static_cast<double>(0.1f) * static_cast<double>(n / inner);
      EXPECT_NEAR(y[0], exact, rounding_bound(530, exact)) << inner;  // 512 at a time in f32, those sums in f64
    }
  }
}

TEST(ReduceKernels, MaximaAndMinimaKeepNan) {
  for (Isa isa : available_isas()) {
    for (std::int64_t inner : {1, 4}) {
      for (std::int64_t bad = 0; bad < 100; ++bad) {
        auto x = random_values(100 * inner, 3);
        x[static_cast<std::size_t>(bad * inner)] = NAN;
        for (ReduceOp op : {ReduceOp::max, ReduceOp::min}) {
          std::vector<float> y(static_cast<std::size_t>(inner));
          reduce_axis({.op = op, .input = x.data(), .output = y.data(), .axis = 100, .inner = inner}, isa);
          EXPECT_TRUE(std::isnan(y[0])) << bad;
          EXPECT_EQ(std::isnan(y.back()), inner == 1);
        }
      }
    }
  }
}

}  // namespace
}  // namespace belfry
