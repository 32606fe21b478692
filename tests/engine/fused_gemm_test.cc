#include "belfry/engine/cpu/matmul/fused_gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numbers>

#include "belfry/base/parallel.h"
#include "tests/engine/kernel_testing.h"
#include "tests/support/rounding.h"

namespace belfry {
namespace {

struct Size {
  std::int64_t m, n, k;
  bool transpose_b;
};

struct Outcome {
  std::vector<float> y, slope, before, sums;
};

class Problem {
 public:
  explicit Problem(const Size& size)
      : s(size),
        a(random_values(size.m * size.k, 1, -1, 1)),
        b(random_values(size.k * size.n, 2, -1, 1)),
        bias(random_values(size.n, 3)),
        factor(random_values(size.m * size.n, 4)) {}

  Outcome run(bool gelu) const {
    const std::vector<float> full(factor.size());
    Outcome out{full, full, full, std::vector<float>(bias.size())};
    FusedGemm args{.product = {.m = s.m,
                               .n = s.n,
                               .k = s.k,
                               .a = {.data = a.data(), .row = s.k},
                               .b = {.data = b.data(), .row = s.transpose_b ? s.k : s.n, .transposed = s.transpose_b},
                               .y = out.y.data(),
                               .y_row = s.n,
                               .start = gelu ? bias.data() : nullptr}};
    args.gelu = gelu;
    args.slope = gelu ? out.slope.data() : nullptr;
    args.before = gelu ? out.before.data() : nullptr;
    args.factor = gelu ? nullptr : factor.data();
    args.sums = gelu ? nullptr : out.sums.data();
    std::vector<std::byte> scratch(fused_gemm_scratch_bytes(args.product, team_size()) + 64);
    void* aligned = scratch.data();
    std::size_t room = scratch.size();
    fused_gemm(args, std::align(64, 1, aligned, room));
    return out;
  }

  struct Sum {
    double value = 0, bound = 0;  // how far from it f32 may be
  };
  Sum product(std::int64_t i, std::int64_t j, double start = 0) const {
    double sum = start, squares = start * start;
    for (std::int64_t p = 0; p < s.k; ++p) {
      const double term = static_cast<double>(a[static_cast<std::size_t>(i * s.k + p)]) *
                          static_cast<double>(b[static_cast<std::size_t>(s.transpose_b ? j * s.k + p : p * s.n + j)]);
      sum += term, squares += term * term;
    }
    return {sum, likely_rounding_bound(static_cast<double>(s.k), std::sqrt(squares))};
  }

  Size s;
  std::vector<float> a, b, bias, factor;
};

constexpr Size kSizes[] = {{70, 33, 10, false}, {130, 16, 300, true}, {1, 1, 1, false}, {200, 100, 40, true}};

TEST(FusedGemm, GivesGeluItsSlopeAndWhatItTook) {
  for (const Size& s : kSizes) {
    const Problem p(s);
    const Outcome got = p.run(true);
    for (std::int64_t i = 0; i < s.m; ++i)
      for (std::int64_t j = 0; j < s.n; ++j) {
        const auto at = static_cast<std::size_t>(i * s.n + j);
        const auto [x, bound] = p.product(i, j, static_cast<double>(p.bias[static_cast<std::size_t>(j)]));
        const double share = 0.5 * std::erfc(-x / std::numbers::sqrt2);
        const double density = std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
        ASSERT_NEAR(got.before[at], x, bound);
        // gelu's slope is at most 1.13 and changes by at most 0.8; both are exact to a few units of the last place.
        ASSERT_NEAR(got.y[at], x * share, 1.13 * bound + rounding_bound(20, std::abs(x)));
        ASSERT_NEAR(got.slope[at], share + x * density, 0.8 * bound + rounding_bound(4, 1.13));
      }
  }
}

TEST(FusedGemm, ScalesAndSumsColumnsOnAnyNumberOfThreads) {
  for (const Size& s : kSizes) {
    const Problem p(s);
    std::vector<Outcome> runs;
    for (int threads : {1, 2, 3}) {
      const TeamScope team(threads);
      runs.push_back(p.run(false));
      EXPECT_TRUE(same_bits(runs.front().y, runs.back().y)) << threads;
      for (std::int64_t j = 0; j < s.n; ++j) {
        double sum = 0, squares = 0, bounds = 0;
        for (std::int64_t i = 0; i < s.m; ++i) {
          const auto at = static_cast<std::size_t>(i * s.n + j);
          const Problem::Sum product = p.product(i, j);
          const double factor = static_cast<double>(p.factor[at]), wanted = product.value * factor;
          const double bound = product.bound * std::abs(factor) + rounding_bound(1, std::abs(wanted));
          ASSERT_NEAR(runs.back().y[at], wanted, bound);
          sum += wanted, squares += wanted * wanted, bounds += bound;
        }
        ASSERT_NEAR(runs.back().sums[static_cast<std::size_t>(j)], sum,
                    bounds + likely_rounding_bound(static_cast<double>(s.m), std::sqrt(squares)));
      }
    }
  }
}

}  // namespace
}  // namespace belfry
