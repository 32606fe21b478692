#include <cmath>
#include <limits>
#include <tuple>

#include "belfry/engine/cpu/norm/batch_norm_team.h"
#include "tests/engine/activation_layouts.h"

namespace belfry {
namespace {

using activation_testing::ActivationLayout;
using activation_testing::expect_near;
using activation_testing::for_each_machine;
using activation_testing::kPoison;
using activation_testing::Numbers;
using activation_testing::pack;
using activation_testing::poisoned;
using activation_testing::unpack;

struct BatchNormProblem {
  std::int64_t n = 1, channels = 1, rows = 1;
  float epsilon = 1e-3f;
  std::vector<float> x = {}, residual = {}, gamma = {}, beta = {}, dy = {};  // gamma, beta, residual: empty = not there
  bool relu = false;
  float alpha = 0;  // relu's slope below 0
};

BatchNormProblem make_problem(std::int64_t n, std::int64_t channels, std::int64_t rows, bool relu, bool residual,
                              bool affine) {
  Numbers numbers(static_cast<std::uint64_t>(n * 1000 + channels * 10 + rows));
  BatchNormProblem p{.n = n, .channels = channels, .rows = rows, .relu = relu};
  p.x = numbers.many(n * channels * rows);
  for (std::size_t i = 0; i < p.x.size(); ++i) p.x[i] = p.x[i] * 2 + static_cast<float>(i / rows % channels) * 0.25f;
  p.dy = numbers.many(n * channels * rows);
  if (residual) p.residual = numbers.many(n * channels * rows);
  if (affine) p.gamma = numbers.many(channels), p.beta = numbers.many(channels);
  return p;
}

struct BatchNormExpected {
  std::vector<double> mean, variance, inv_std, y, dx, d_residual, dgamma, dbeta;
};

double or_else(const std::vector<float>& values, std::int64_t i, double otherwise) {
  return values.empty() ? otherwise : static_cast<double>(values[static_cast<std::size_t>(i)]);
}

// Everything in double, straight from the formulas. With given statistics these are constants.
BatchNormExpected reference(const BatchNormProblem& p, const BatchNormExpected* given = nullptr) {
  const std::int64_t count = p.n * p.rows;
  BatchNormExpected e;
  e.y.resize(p.x.size()), e.dx.resize(p.x.size()), e.d_residual.resize(p.x.size());
  for (std::int64_t c = 0; c < p.channels; ++c) {
    const auto each = [&](auto body) {
      for (std::int64_t n = 0; n < p.n; ++n) {
        for (std::int64_t r = 0; r < p.rows; ++r) body(static_cast<std::size_t>((n * p.channels + c) * p.rows + r));
      }
    };
    double mean = 0, variance = 0;
    if (given) {
      mean = given->mean[static_cast<std::size_t>(c)], variance = given->variance[static_cast<std::size_t>(c)];
    } else {
      each([&](std::size_t i) { mean += static_cast<double>(p.x[i]) / static_cast<double>(count); });
      each([&](std::size_t i) {
        variance +=
            (static_cast<double>(p.x[i]) - mean) * (static_cast<double>(p.x[i]) - mean) / static_cast<double>(count);
      });
    }
    const double inv_std = 1 / std::sqrt(variance + static_cast<double>(p.epsilon)), gamma = or_else(p.gamma, c, 1);
    double sum_g = 0, sum_gx = 0;
    each([&](std::size_t i) {
      const double xhat = (static_cast<double>(p.x[i]) - mean) * inv_std;
      double y = gamma * xhat + or_else(p.beta, c, 0);
      if (!p.residual.empty()) y += static_cast<double>(p.residual[i]);
      const double below = p.relu ? static_cast<double>(p.alpha) : 1;
      const double g = (y <= 0 ? below : 1) * static_cast<double>(p.dy[i]);
      e.y[i] = (y < 0 ? below : 1) * y;
      e.d_residual[i] = g;
      sum_g += g, sum_gx += g * xhat;
    });
    each([&](std::size_t i) {
      const double xhat = (static_cast<double>(p.x[i]) - mean) * inv_std;
      const double centered = given ? 0 : (sum_g + xhat * sum_gx) / static_cast<double>(count);
      e.dx[i] = gamma * inv_std * (e.d_residual[i] - centered);
    });
    e.mean.push_back(mean), e.variance.push_back(variance), e.inv_std.push_back(inv_std);
    e.dgamma.push_back(sum_gx), e.dbeta.push_back(sum_g);
  }
  return e;
}

const float* data_or_null(const std::vector<float>& values) { return values.empty() ? nullptr : values.data(); }

struct Workspace {
  std::vector<char> scratch;
  std::vector<std::uint8_t> mask;
  Workspace(const ActivationView& view, Isa isa)
      : scratch(batch_norm_scratch_bytes(view, team_size(), isa) + 1), mask(batch_norm_mask_bytes(view, isa), 0xAA) {}
};

void check(const BatchNormProblem& p, const BatchNormExpected& e, const ActivationLayout& layout, Isa isa,
           const std::string& where) {
  constexpr double tolerance = 1e-5, sum_tolerance = 1e-4;  // sums of both signs lose digits
  const ActivationView& view = layout.view;
  const std::string what = layout.name + ", " + where;
  const std::vector<float> x = pack(layout, p.x), dy = pack(layout, p.dy);
  const std::vector<float> residual = p.residual.empty() ? std::vector<float>{} : pack(layout, p.residual);
  std::vector<float> mean(static_cast<std::size_t>(p.channels), kPoison), variance = mean, inv_std = mean;
  std::vector<float> y = poisoned(layout);
  Workspace work(view, isa);
  batch_norm_forward({.view = view,
                      .x = x.data(),
                      .gamma = data_or_null(p.gamma),
                      .beta = data_or_null(p.beta),
                      .residual = data_or_null(residual),
                      .epsilon = p.epsilon,
                      .relu = p.relu,
                      .alpha = p.alpha,
                      .y = y.data(),
                      .mean = mean.data(),
                      .variance = variance.data(),
                      .inv_std = inv_std.data(),
                      .mask = p.relu ? work.mask.data() : nullptr,
                      .scratch = work.scratch.data() + 1,
                      .isa = isa});
  expect_near(e.mean, mean, tolerance, "mean " + what);
  expect_near(e.variance, variance, tolerance, "variance " + what);
  expect_near(e.inv_std, inv_std, tolerance, "inv_std " + what);
  expect_near(e.y, unpack(layout, y), tolerance, "y " + what);

  std::vector<float> dx = poisoned(layout), d_residual = poisoned(layout), dgamma(mean.size(), kPoison), dbeta = dgamma;
  batch_norm_backward({.view = view,
                       .dy = dy.data(),
                       .x = x.data(),
                       .mean = mean.data(),
                       .inv_std = inv_std.data(),
                       .gamma = data_or_null(p.gamma),
                       .mask = p.relu ? work.mask.data() : nullptr,
                       .alpha = p.alpha,
                       .dx = dx.data(),
                       .dgamma = dgamma.data(),
                       .dbeta = dbeta.data(),
                       .d_residual = p.residual.empty() ? nullptr : d_residual.data(),
                       .scratch = work.scratch.data() + 1,
                       .isa = isa});
  expect_near(e.dgamma, dgamma, sum_tolerance, "dgamma " + what);
  expect_near(e.dbeta, dbeta, sum_tolerance, "dbeta " + what);
  expect_near(e.dx, unpack(layout, dx), tolerance, "dx " + what);
  if (!p.residual.empty()) expect_near(e.d_residual, unpack(layout, d_residual), 0, "d_residual " + what);
}

struct Given {
  std::vector<float> mean, variance, inv_std;
  BatchNormExpected expected;
};

Given given_statistics(const BatchNormProblem& p) {
  Given result;
  BatchNormExpected given;
  auto& [mean, variance, inv_std, expected] = result;
  for (std::int64_t c = 0; c < p.channels; ++c) {
    mean.push_back(0.125f * static_cast<float>(c % 5)), variance.push_back(0.5f + 0.25f * static_cast<float>(c % 3));
    given.mean.push_back(static_cast<double>(mean.back()));
    given.variance.push_back(static_cast<double>(variance.back()));
    inv_std.push_back(1 / std::sqrt(variance.back() + p.epsilon));
  }
  expected = reference(p, &given);
  return result;
}

void check_inference(const BatchNormProblem& p, const Given& given, const ActivationLayout& layout, Isa isa,
                     const std::string& where) {
  const auto& [mean, variance, inv_std, e] = given;
  const ActivationView& view = layout.view;
  const std::string what = layout.name + ", inference, " + where;
  const std::vector<float> x = pack(layout, p.x), dy = pack(layout, p.dy);
  const std::vector<float> residual = p.residual.empty() ? std::vector<float>{} : pack(layout, p.residual);
  std::vector<float> y = poisoned(layout);
  Workspace work(view, isa);
  BatchNormForward forward{.view = view,
                           .x = x.data(),
                           .given_mean = mean.data(),
                           .given_variance = variance.data(),
                           .gamma = data_or_null(p.gamma),
                           .beta = data_or_null(p.beta),
                           .residual = data_or_null(residual),
                           .epsilon = p.epsilon,
                           .relu = p.relu,
                           .alpha = p.alpha,
                           .y = y.data(),
                           .scratch = work.scratch.data(),
                           .isa = isa};
  batch_norm_forward(forward);  // without a mask first
  expect_near(e.y, unpack(layout, y), 1e-5, "y " + what);
  std::vector<float> again = poisoned(layout);
  forward.y = again.data(), forward.mask = p.relu ? work.mask.data() : nullptr;
  batch_norm_forward(forward);
  EXPECT_EQ(y, again) << what;

  std::vector<float> dx = poisoned(layout), d_residual = poisoned(layout), dgamma(mean.size(), kPoison), dbeta = dgamma;
  batch_norm_backward({.view = view,
                       .dy = dy.data(),
                       .x = x.data(),
                       .mean = mean.data(),
                       .inv_std = inv_std.data(),
                       .gamma = data_or_null(p.gamma),
                       .mask = forward.mask,
                       .alpha = p.alpha,
                       .constant_statistics = true,
                       .dx = dx.data(),
                       .dgamma = dgamma.data(),
                       .dbeta = dbeta.data(),
                       .d_residual = p.residual.empty() ? nullptr : d_residual.data(),
                       .scratch = work.scratch.data(),
                       .isa = isa});
  expect_near(e.dgamma, dgamma, 1e-4, "dgamma " + what);
  expect_near(e.dbeta, dbeta, 1e-4, "dbeta " + what);
  expect_near(e.dx, unpack(layout, dx), 1e-5, "dx " + what);
  if (!p.residual.empty()) expect_near(e.d_residual, unpack(layout, d_residual), 0, "d_residual " + what);
}

TEST(BatchNorm, TrainingMatchesTheFormulasInEveryLayout) {
  for (const std::int64_t channels : {1, 3, 16, 17, 40, 72, 129}) {
    for (const int variant : {0, 1, 2, 3}) {
      const BatchNormProblem p = make_problem(3, channels, 35, variant & 1, variant & 2, variant != 2);
      const BatchNormExpected e = reference(p);
      for_each_machine([&](Isa isa, const std::string& machine) {
        for (const ActivationLayout& layout : activation_testing::layouts(p.n, channels, p.rows)) {
          check(p, e, layout, isa, machine + ", channels " + std::to_string(channels));
        }
      });
    }
  }
}

TEST(BatchNorm, LeakyReluGoesAlong) {
  for (const std::int64_t channels : {1, 17, 40, 129}) {
    for (const bool residual : {false, true}) {
      BatchNormProblem p = make_problem(3, channels, 35, true, residual, true);
      p.alpha = 0.25f;
      const BatchNormExpected e = reference(p);
      const Given given = given_statistics(p);
      for_each_machine([&](Isa isa, const std::string& machine) {
        for (const ActivationLayout& layout : activation_testing::layouts(p.n, channels, p.rows)) {
          check(p, e, layout, isa, machine + ", leaky, channels " + std::to_string(channels));
          check_inference(p, given, layout, isa, machine + ", leaky");
        }
      });
    }
  }
}

TEST(BatchNorm, LargeProblemsAreSplitCorrectly) {  // both threads get a share: by chunks, by groups, inside one image
  for (const auto& [n, channels, rows] :
       {std::tuple{1, 3, 20011}, {1, 17, 4099}, {2, 64, 500}, {35, 32, 49}, {2000, 17, 1}, {300, 130, 1}}) {
    const BatchNormProblem p = make_problem(n, channels, rows, true, true, true);
    const BatchNormExpected e = reference(p);
    for_each_machine([&](Isa isa, const std::string& machine) {
      for (const ActivationLayout& layout : activation_testing::layouts(p.n, p.channels, p.rows)) {
        check(p, e, layout, isa, machine + ", " + std::to_string(p.n) + "x" + std::to_string(p.channels));
      }
    });
  }
}

// Split where towers synchronise: only the sums, forward and backward, and what is computed from them.
void check_pieces(const BatchNormProblem& p, const BatchNormExpected& e, const ActivationLayout& layout, Isa isa,
                  const std::string& where) {
  const std::string what = layout.name + ", pieces, " + where;
  const std::vector<float> x = pack(layout, p.x), dy = pack(layout, p.dy);
  const auto channels = static_cast<std::size_t>(p.channels);
  const double count = static_cast<double>(p.n * p.rows);
  Workspace work(layout.view, isa);
  void* scratch = work.scratch.data() + 1;
  std::vector<double> sum(channels), square_sum(channels);
  batch_norm_forward({.view = layout.view,
                      .x = x.data(),
                      .sum = sum.data(),
                      .square_sum = square_sum.data(),
                      .scratch = scratch,
                      .isa = isa});
  std::vector<float> mean, variance, inv_std, scale, slope, shift;
  for (std::size_t c = 0; c < channels; ++c) {
    mean.push_back(static_cast<float>(sum[c] / count));
    variance.push_back(static_cast<float>(square_sum[c] / count - std::pow(sum[c] / count, 2)));
    inv_std.push_back(static_cast<float>(e.inv_std[c]));
  }
  expect_near(e.mean, mean, 1e-5, "mean " + what);
  expect_near(e.variance, variance, 1e-5, "variance " + what);
  std::vector<float> dgamma(channels, kPoison), dbeta = dgamma, dx = poisoned(layout);
  batch_norm_backward({.view = layout.view,
                       .dy = dy.data(),
                       .x = x.data(),
                       .mean = mean.data(),
                       .inv_std = inv_std.data(),
                       .dgamma = dgamma.data(),
                       .dbeta = dbeta.data(),
                       .scratch = scratch,
                       .isa = isa});
  expect_near(e.dgamma, dgamma, 1e-4, "dgamma " + what);
  expect_near(e.dbeta, dbeta, 1e-4, "dbeta " + what);
  for (std::size_t c = 0; c < channels; ++c) {
    scale.push_back(inv_std[c] * static_cast<float>(or_else(p.gamma, static_cast<std::int64_t>(c), 1)));
    slope.push_back(-scale[c] * inv_std[c] * dgamma[c] / static_cast<float>(count));
    shift.push_back(-scale[c] * dbeta[c] / static_cast<float>(count));
  }
  batch_norm_blend({.view = layout.view,
                    .dy = dy.data(),
                    .x = x.data(),
                    .mean = mean.data(),
                    .scale = scale.data(),
                    .slope = slope.data(),
                    .shift = shift.data(),
                    .dx = dx.data(),
                    .scratch = scratch,
                    .isa = isa});
  expect_near(e.dx, unpack(layout, dx), 1e-5, "dx " + what);
}

TEST(BatchNorm, PiecesMakeTheWholeInEveryLayout) {
  for (const auto& [n, channels, rows] : std::vector<std::tuple<int, int, int>>{{2, 21, 9}, {3, 4, 1}, {8, 64, 300}}) {
    const BatchNormProblem p = make_problem(n, channels, rows, false, false, true);
    const BatchNormExpected e = reference(p);
    for_each_machine([&](Isa isa, const std::string& where) {
      for (const ActivationLayout& layout : activation_testing::layouts(n, channels, rows))
        check_pieces(p, e, layout, isa, where);
    });
  }
}

TEST(BatchNorm, InferenceAndItsGradientTreatStatisticsAsConstants) {
  for (const std::int64_t channels : {1, 3, 16, 17, 40}) {
    for (const int variant : {0, 1, 2, 3}) {
      const BatchNormProblem p = make_problem(2, channels, 435, variant & 1, variant & 2, variant != 3);
      const Given given = given_statistics(p);
      for_each_machine([&](Isa isa, const std::string& machine) {
        for (const ActivationLayout& layout : activation_testing::layouts(p.n, channels, p.rows)) {
          check_inference(p, given, layout, isa, machine);
        }
      });
    }
  }
}

TEST(BatchNorm, AMeanFarFromZeroDoesNotSpoilTheVariance) {
  BatchNormProblem p = make_problem(8, 17, 1000, false, false, false);
  for (float& x : p.x) x += 4096.f;
  const BatchNormExpected e = reference(p);
  for_each_machine([&](Isa isa, const std::string& machine) {
    for (const ActivationLayout& layout : activation_testing::layouts(p.n, p.channels, p.rows)) {
      const std::vector<float> x = pack(layout, p.x);
      std::vector<float> y = poisoned(layout), mean(17), variance(17);
      Workspace work(layout.view, isa);
      batch_norm_forward({.view = layout.view,
                          .x = x.data(),
                          .epsilon = p.epsilon,
                          .y = y.data(),
                          .mean = mean.data(),
                          .variance = variance.data(),
                          .scratch = work.scratch.data(),
                          .isa = isa});
      expect_near(e.mean, mean, 1e-6, "mean " + layout.name + machine);
      expect_near(e.variance, variance, 1e-5, "variance " + layout.name + machine);
    }
  });
}

TEST(BatchNorm, ALeapBetweenImagesDoesNotSpoilTheVariance) {  // the running mean is far off for most of them
  BatchNormProblem p = make_problem(16, 16, 2048, false, false, false);
  for (std::size_t i = 0; i < p.x.size() / 16 * 15; ++i) p.x[i] = p.x[i] * 0.01f;
  for (std::size_t i = p.x.size() / 16 * 15; i < p.x.size(); ++i) p.x[i] += 1000.f;
  const BatchNormExpected e = reference(p);
  for_each_machine([&](Isa isa, const std::string& machine) {
    for (const ActivationLayout& layout : activation_testing::layouts(p.n, p.channels, p.rows)) {
      const std::vector<float> x = pack(layout, p.x);
      std::vector<float> y = poisoned(layout), mean(16), variance(16);
      Workspace work(layout.view, isa);
      batch_norm_forward({.view = layout.view,
                          .x = x.data(),
                          .epsilon = p.epsilon,
                          .y = y.data(),
                          .mean = mean.data(),
                          .variance = variance.data(),
                          .scratch = work.scratch.data(),
                          .isa = isa});
      expect_near(e.mean, mean, 1e-6, "mean " + layout.name + machine);
      expect_near(e.variance, variance, 1e-6, "variance " + layout.name + machine);
    }
  });
}

TEST(BatchNorm, RepeatsBitByBitAndWorksInPlace) {
  for_each_machine([](Isa isa, const std::string& machine) {
    const BatchNormProblem p = make_problem(9, 40, 500, true, true, true);
    for (const ActivationLayout& layout : activation_testing::layouts(p.n, p.channels, p.rows)) {
      const std::vector<float> x = pack(layout, p.x), residual = pack(layout, p.residual);
      std::vector<float> y = poisoned(layout), in_place = x, mean(40), mean_again(40), inv_std(40);
      Workspace work(layout.view, isa);
      BatchNormForward forward{.view = layout.view,
                               .x = x.data(),
                               .residual = residual.data(),
                               .relu = true,
                               .y = y.data(),
                               .mean = mean.data(),
                               .inv_std = inv_std.data(),
                               .mask = work.mask.data(),
                               .scratch = work.scratch.data(),
                               .isa = isa};
      batch_norm_forward(forward);
      forward.x = forward.y = in_place.data(), forward.mean = mean_again.data();
      batch_norm_forward(forward);
      EXPECT_EQ(mean, mean_again) << layout.name << machine;
      EXPECT_EQ(y, in_place) << layout.name << machine;

      const std::vector<float> dy = pack(layout, p.dy);
      std::vector<float> dx = poisoned(layout), over_dy = dy;
      BatchNormBackward backward{.view = layout.view,
                                 .dy = dy.data(),
                                 .x = x.data(),
                                 .mean = mean.data(),
                                 .inv_std = inv_std.data(),
                                 .mask = work.mask.data(),
                                 .dx = dx.data(),
                                 .scratch = work.scratch.data(),
                                 .isa = isa};
      batch_norm_backward(backward);
      backward.dy = backward.dx = over_dy.data();
      batch_norm_backward(backward);
      EXPECT_EQ(dx, over_dy) << layout.name << machine;
    }
  });
}

TEST(BatchNorm, ReluKeepsNaN) {
  for_each_machine([](Isa isa, const std::string& machine) {
    const std::vector<float> x = {1.f, std::numeric_limits<float>::quiet_NaN(), -1.f}, mean = {0.f}, variance = {1.f};
    std::vector<float> y(3);
    const ActivationView view{1, 1, 3, 1, 1};
    Workspace work(view, isa);
    batch_norm_forward({.view = view,
                        .x = x.data(),
                        .given_mean = mean.data(),
                        .given_variance = variance.data(),
                        .epsilon = 0.f,
                        .relu = true,
                        .y = y.data(),
                        .scratch = work.scratch.data(),
                        .isa = isa});
    EXPECT_EQ(y[0], 1.f) << machine;
    EXPECT_TRUE(std::isnan(y[1])) << machine;
    EXPECT_EQ(y[2], 0.f) << machine;
  });
}

TEST(BatchNorm, NoElementsGiveZeroSumsAndTouchNothingElse) {
  for_each_machine([](Isa isa, const std::string& machine) {
    for (const ActivationView& view : {ActivationView{2, 1, 0, 16, 3}, {0, 1, 5, 3, 3}, {0, 3, 0, 1, 3}}) {
      Workspace work(view, isa);
      EXPECT_EQ(work.mask.size(), 0u);
      std::vector<float> mean(4, kPoison), variance = mean, dgamma = mean, dbeta = mean;
      batch_norm_forward(
          {.view = view, .mean = mean.data(), .variance = variance.data(), .scratch = work.scratch.data(), .isa = isa});
      batch_norm_forward({.view = view, .given_mean = &kPoison, .scratch = work.scratch.data(), .isa = isa});
      batch_norm_backward(
          {.view = view, .dgamma = dgamma.data(), .dbeta = dbeta.data(), .scratch = work.scratch.data(), .isa = isa});
      const std::vector<float> zeros = {0, 0, 0, kPoison};
      EXPECT_EQ(mean, zeros) << machine;
      EXPECT_EQ(variance, zeros) << machine;
      EXPECT_EQ(dgamma, zeros) << machine;
      EXPECT_EQ(dbeta, zeros) << machine;
    }
  });
}

}  // namespace
}  // namespace belfry
