// The AVX2 functions are compiled into this test; pointwise_test.cc reaches the same code for both instruction sets.
#define BELFRY_ISA avx2
#include "belfry/engine/cpu/vector/vmath.h"

#include <gtest/gtest.h>

#include <numbers>

#include "tests/engine/ulp.h"

namespace belfry {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

template <class F, class Exact>
void expect_within(double bound, const char* name, std::vector<float> xs, F f, Exact exact) {
  while (xs.size() % avx2::kWidth != 0) xs.push_back(1.f);
  double worst = 0;
  float at = 0;
  for (std::size_t i = 0; i < xs.size(); i += avx2::kWidth) {
    const avx2::Vec y = f(avx2::load(&xs[i]));
    for (int k = 0; k < avx2::kWidth; ++k) {
      const float x = xs[i + static_cast<std::size_t>(k)];
      const double error = ulp_error(y[k], exact(static_cast<double>(x)));
      if (error > worst) worst = error, at = x;
    }
  }
  EXPECT_LE(worst, bound) << name << " at " << at;
}

TEST(VectorMath, StaysWithinItsErrorBounds) {
  using avx2::Vec;
  const auto all = probes(-kInf, kInf);
  expect_within(1.0, "exp", all, [](Vec x) { return avx2::exp(x); }, [](double x) { return std::exp(x); });
  expect_within(1.5, "expm1", all, [](Vec x) { return avx2::expm1(x); }, [](double x) { return std::expm1(x); });
  expect_within(1.0, "log", all, [](Vec x) { return avx2::log(x); }, [](double x) { return std::log(x); });
  expect_within(1.5, "log1p", all, [](Vec x) { return avx2::log1p(x); }, [](double x) { return std::log1p(x); });
  expect_within(2.5, "tanh", all, [](Vec x) { return avx2::tanh(x); }, [](double x) { return std::tanh(x); });
  expect_within(
      2.5, "sigmoid", all, [](Vec x) { return avx2::sigmoid(x); },
      [](double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); });
  expect_within(
      2.0, "softplus", all, [](Vec x) { return avx2::softplus(x); },
      [](double x) { return std::isnan(x) ? x : std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); });
  expect_within(2.0, "erf", all, [](Vec x) { return avx2::erf(x); }, [](double x) { return std::erf(x); });
  expect_within(
      9.0, "gelu", all, [](Vec x) { return avx2::gelu(x); },
      [](double x) { return x * 0.5 * std::erfc(-x / std::numbers::sqrt2); });
  expect_within(0.5, "sqrt", all, [](Vec x) { return avx2::sqrt(x); }, [](double x) { return std::sqrt(x); });
  expect_within(1.6, "rsqrt", all, [](Vec x) { return avx2::rsqrt(x); }, [](double x) { return 1 / std::sqrt(x); });
  expect_within(1.6, "sin", all, [](Vec x) { return avx2::sin(x); }, [](double x) { return std::sin(x); });
  expect_within(1.6, "cos", all, [](Vec x) { return avx2::cos(x); }, [](double x) { return std::cos(x); });
}

TEST(VectorMath, TheSlopeOfGeluIsExactToAQuarterOfAMillionth) {
  using avx2::Vec;
  std::vector<float> xs = probes(-kInf, kInf);
  while (xs.size() % avx2::kWidth != 0) xs.push_back(1.f);
  for (std::size_t i = 0; i < xs.size(); i += avx2::kWidth) {
    const Vec y = avx2::gelu_slope(avx2::load(&xs[i]));
    for (int k = 0; k < avx2::kWidth; ++k) {
      const double x = static_cast<double>(xs[i + static_cast<std::size_t>(k)]);
      if (std::isnan(x)) {
        EXPECT_TRUE(std::isnan(y[k]));
        continue;
      }
      const double bell = std::exp(-0.5 * x * x) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
      const double slope = 0.5 * std::erfc(-x / std::numbers::sqrt2) + (bell == 0 ? 0 : x * bell);
      ASSERT_NEAR(y[k], slope, 0x1p-22) << x;
    }
  }
}

TEST(VectorMath, PowFollowsLibm) {
  using avx2::Vec;
  const auto xs = probes(-kInf, kInf, 200003);
  for (float y : {-2.5f, -1.f, 0.f, 0.01f, 0.5f, 1.f, 2.f, 3.f, 17.f, 33.3f, kInf, -kInf}) {
    expect_within(
        1.1, "pow", xs, [=](Vec x) { return avx2::pow(x, avx2::splat(y)); },
        [=](double x) { return x == -1 && std::isinf(y) ? NAN : std::pow(x, static_cast<double>(y)); });
  }
}

TEST(VectorMath, PartialLoadsAndStoresTouchNothingElse) {
  for (int n = 0; n <= avx2::kWidth; ++n) {
    std::vector<float> in(static_cast<std::size_t>(n), 3.f), out(16, 7.f);
    const avx2::Vec v = avx2::load_first(in.data(), n);
    avx2::store_first(out.data(), v, n);
    for (int i = 0; i < 16; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)], i < n ? 3.f : 7.f);
    EXPECT_EQ(avx2::fold(v, [](avx2::Vec a, avx2::Vec b) { return a + b; }), 3.f * static_cast<float>(n));
  }
}

}  // namespace
}  // namespace belfry
