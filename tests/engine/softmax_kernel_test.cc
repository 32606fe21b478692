#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/softmax/softmax_team.h"
#include "tests/engine/kernel_testing.h"
#include "tests/support/rounding.h"

namespace belfry {
namespace {

using Doubles = std::vector<double>;

Doubles exact_softmax(const float* x, std::int64_t n) {
  const double most = *std::max_element(x, x + n);
  Doubles y;
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) y.push_back(std::exp(x[i] - most)), sum += y.back();
  for (double& v : y) v /= sum;
  return y;
}

// How many roundings, relative to 1, are in exp(x - most) / sum and in the logarithm of the sum: of x - most, which exp
// makes relative; of a sum of n numbers by at least 8 lanes; of exp, log and the quotient.
double roundings_of(double x, const float* row, std::int64_t n) {
  const double most = *std::max_element(row, row + n);
  return most - x + static_cast<double>(n) / 8 + 12;
}

std::vector<std::int64_t> class_counts() {
  std::vector<std::int64_t> counts;
  for (std::int64_t n = 1; n <= 70; ++n) counts.push_back(n);
  counts.push_back(1000);
  return counts;
}

TEST(SoftmaxKernels, MatchTheFormulasAtEveryLength) {
  for (Isa isa : available_isas()) {
    for (std::int64_t n : class_counts()) {
      const std::int64_t rows = 3;
      const auto x = random_values(rows * n, 1, -20, 20);
      std::vector<float> y(x.size()), log_y(x.size());
      softmax_forward({x.data(), y.data(), rows, n}, isa);
      log_softmax_forward({x.data(), log_y.data(), rows, n}, isa);
      for (std::int64_t r = 0; r < rows; ++r) {
        const Doubles p = exact_softmax(&x[static_cast<std::size_t>(r * n)], n);
        for (std::int64_t i = 0; i < n; ++i) {
          const auto at = static_cast<std::size_t>(r * n + i);
          const double q = p[static_cast<std::size_t>(i)];
          const double roundings = roundings_of(x[at], &x[static_cast<std::size_t>(r * n)], n);
          ASSERT_NEAR(y[at], q, rounding_bound(roundings, q) + 1e-37) << n;
          ASSERT_NEAR(log_y[at], std::log(q), rounding_bound(roundings - std::log(q), 1)) << n;
        }
      }
    }
  }
}

TEST(SoftmaxKernels, WorkInPlaceAndTakeMinusInfinityAsMasked) {
  for (Isa isa : available_isas()) {
    std::vector<float> x = {0, -std::numeric_limits<float>::infinity(), 0, -200};
    softmax_forward({x.data(), x.data(), 1, 4}, isa);
    EXPECT_EQ(x, (std::vector<float>{0.5f, 0, 0.5f, 0}));
  }
}

template <class Label>
void expect_cross_entropy(Isa isa, std::int64_t n) {
  const std::int64_t rows = 5;
  const auto x = random_values(rows * n, 3, -8, 8), factor = random_values(rows, 4, 0.1, 1);
  std::vector<Label> labels;
  for (std::int64_t r = 0; r < rows; ++r) labels.push_back(static_cast<Label>((r * 7 + 3) % n));
  std::vector<float> loss(static_cast<std::size_t>(rows)), only_loss = loss, dx(x.size()), only_dx(x.size());
  CrossEntropyArgs args{.logits = x.data(),
                        .labels = labels.data(),
                        .wide_labels = sizeof(Label) == 8,
                        .rows = rows,
                        .classes = n,
                        .loss = loss.data(),
                        .gradient = dx.data(),
                        .factor = factor.data(),
                        .factor_stride = 1};
  EXPECT_EQ(sparse_cross_entropy(args, isa), -1);
  Doubles bounds;  // of the losses
  for (std::int64_t r = 0; r < rows; ++r) {
    const Doubles p = exact_softmax(&x[static_cast<std::size_t>(r * n)], n);
    const auto row = static_cast<std::size_t>(r), label = static_cast<std::size_t>(labels[row]);
    const double exact = -std::log(p[label]);
    const double bound = rounding_bound(roundings_of(x[row * p.size() + label], &x[row * p.size()], n) + exact, 1);
    ASSERT_NEAR(loss[row], exact, bound) << n;
    bounds.push_back(bound);
    for (std::size_t i = 0; i < p.size(); ++i) {
      ASSERT_NEAR(dx[row * p.size() + i], factor[row] * (p[i] - (i == label ? 1 : 0)), 1e-6) << n;
    }
  }
  args.gradient = nullptr;
  args.loss = only_loss.data();
  EXPECT_EQ(sparse_cross_entropy(args, isa), -1);
  args.gradient = only_dx.data();
  args.loss = nullptr;
  args.factor = nullptr;
  EXPECT_EQ(sparse_cross_entropy(args, isa), -1);
  for (std::size_t r = 0; r < loss.size(); ++r) EXPECT_NEAR(only_loss[r], loss[r], 2 * bounds[r]);
  EXPECT_NEAR(only_dx[0] * factor[0], dx[0], 1e-6);
}

TEST(SoftmaxKernels, CrossEntropyMatchesForBothLabelTypes) {
  for (Isa isa : available_isas()) {
    for (std::int64_t n : class_counts()) {
      expect_cross_entropy<std::int32_t>(isa, n);
      expect_cross_entropy<std::int64_t>(isa, n);
    }
  }
}

TEST(SoftmaxKernels, TheFirstLabelOutOfRangeIsReported) {
  const std::int64_t rows = 4000, n = 10;
  const auto x = random_values(rows * n, 5);
  std::vector<float> loss(rows), dx(x.size(), 9.f);
  std::vector<std::int32_t> labels(rows, 3);
  labels[3100] = 10;
  labels[1234] = -1;
  for (int threads : {1, 2}) {
    TeamScope team(threads);
    for (Isa isa : available_isas()) {
      EXPECT_EQ(sparse_cross_entropy({.logits = x.data(),
                                      .labels = labels.data(),
                                      .rows = rows,
                                      .classes = n,
                                      .loss = loss.data(),
                                      .gradient = dx.data()},
                                     isa),
                1234);
      EXPECT_TRUE(std::isnan(loss[1234]));
      EXPECT_EQ(dx[12345], 0.f);
      EXPECT_FALSE(std::isnan(loss[1235]));
    }
  }
}

TEST(SoftmaxKernels, OneAndTwoThreadsGiveTheSameBits) {
  const std::int64_t rows = 301, n = 333;
  const auto x = random_values(rows * n, 6);
  for (Isa isa : available_isas()) {
    std::vector<float> one(x.size()), two(x.size());
    {
      TeamScope team(1);
      softmax_forward({x.data(), one.data(), rows, n}, isa);
    }
    {
      TeamScope team(2);
      softmax_forward({x.data(), two.data(), rows, n}, isa);
    }
    EXPECT_TRUE(same_bits(one, two));
  }
}

}  // namespace
}  // namespace belfry
