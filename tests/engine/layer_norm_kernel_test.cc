#include <gtest/gtest.h>

#include <cmath>

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/norm/layer_norm_team.h"
#include "tests/engine/kernel_testing.h"

namespace belfry {
namespace {

struct Result {
  std::vector<float> sum, y, mean, rstd, dx, dgamma, dbeta;
};

struct LayerNormProblem {
  std::int64_t rows = 0, n = 0;
  bool residual = false;
  std::vector<float> x, more, gamma, beta, dy;

  LayerNormProblem(std::int64_t r, std::int64_t width, bool with_residual)
      : rows(r),
        n(width),
        residual(with_residual),
        x(random_values(r * width, 1)),
        more(random_values(r * width, 2)),
        gamma(random_values(width, 3)),
        beta(random_values(width, 4)),
        dy(random_values(r * width, 5)) {}

  Result run(Isa isa) const {
    const auto full = std::vector<float>(x.size()), column = std::vector<float>(static_cast<std::size_t>(rows)),
               row = std::vector<float>(static_cast<std::size_t>(n));
    Result out{full, full, column, column, full, row, row};
    layer_norm_forward({.input = x.data(),
                        .residual = residual ? more.data() : nullptr,
                        .sum = out.sum.data(),
                        .gamma = gamma.data(),
                        .beta = beta.data(),
                        .y = out.y.data(),
                        .mean = out.mean.data(),
                        .rstd = out.rstd.data(),
                        .n = n,
                        .epsilon = 1e-3f},
                       rows, isa);
    std::vector<double> scratch(layer_norm_scratch_bytes(n, team_size()) / sizeof(double));
    layer_norm_backward({.dy = dy.data(),
                         .x = residual ? out.sum.data() : x.data(),
                         .gamma = gamma.data(),
                         .mean = out.mean.data(),
                         .rstd = out.rstd.data(),
                         .residual = residual ? more.data() : nullptr,
                         .dx = out.dx.data(),
                         .dgamma = out.dgamma.data(),
                         .dbeta = out.dbeta.data(),
                         .n = n},
                        rows, scratch.data(), isa);
    return out;
  }
};

void expect_formulas(const LayerNormProblem& p, const Result& got) {
  std::vector<double> dgamma(static_cast<std::size_t>(p.n)), dbeta = dgamma;
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const auto at = [&](std::int64_t i) { return static_cast<std::size_t>(r * p.n + i); };
    const auto x = [&](std::int64_t i) {
      return static_cast<double>(p.x[at(i)]) + (p.residual ? static_cast<double>(p.more[at(i)]) : 0);
    };
    double mean = 0, variance = 0, sum = 0, product = 0;
    const auto n = static_cast<double>(p.n);
    for (std::int64_t i = 0; i < p.n; ++i) mean += x(i) / n;
    for (std::int64_t i = 0; i < p.n; ++i) variance += (x(i) - mean) * (x(i) - mean) / n;
    const double rstd = 1 / std::sqrt(variance + 1e-3);
    for (std::int64_t i = 0; i < p.n; ++i) {
      const auto c = static_cast<std::size_t>(i);
      const double xhat = (x(i) - mean) * rstd, dy = p.dy[at(i)], g = dy * p.gamma[c];
      ASSERT_NEAR(got.y[at(i)], xhat * p.gamma[c] + p.beta[c], 2e-5) << p.n;
      sum += g / n, product += g * xhat / n, dgamma[c] += dy * xhat, dbeta[c] += dy;
    }
    for (std::int64_t i = 0; i < p.n; ++i) {
      const double xhat = (x(i) - mean) * rstd,
                   g = static_cast<double>(p.dy[at(i)]) * p.gamma[static_cast<std::size_t>(i)];
      const double more = p.residual ? static_cast<double>(p.more[at(i)]) : 0;
      ASSERT_NEAR(got.dx[at(i)], rstd * (g - sum - xhat * product) + more, 1e-4 * std::max(1.0, rstd)) << p.n;
    }
  }
  for (std::size_t c = 0; c < dgamma.size(); ++c) {
    ASSERT_NEAR(got.dgamma[c], dgamma[c], 2e-4) << p.n;
    ASSERT_NEAR(got.dbeta[c], dbeta[c], 2e-4) << p.n;
  }
}

TEST(LayerNormKernels, MatchTheFormulasAtEveryLength) {
  for (Isa isa : available_isas())
    for (std::int64_t n = 1; n <= 70; ++n)
      for (bool residual : {false, true}) {
        const LayerNormProblem p(5, n, residual);
        expect_formulas(p, p.run(isa));
      }
}

TEST(LayerNormKernels, ThreadsShareTheRows) {
  const LayerNormProblem p(300, 96, true);
  for (int threads : {1, 2, 3}) {
    const TeamScope team(threads);
    const Result first = p.run(cpu_isa()), second = p.run(cpu_isa());
    expect_formulas(p, first);
    EXPECT_TRUE(same_bits(first.dgamma, second.dgamma) && same_bits(first.dx, second.dx));
  }
}

}  // namespace
}  // namespace belfry
