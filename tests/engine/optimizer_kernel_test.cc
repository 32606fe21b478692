#include <gtest/gtest.h>

#include <cmath>

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/optimizer/optimizer_team.h"
#include "tests/engine/kernel_testing.h"

namespace belfry {
namespace {

template <class T>
struct State {
  std::vector<T> w, g, s0, s1, s2;
  UpdateBuffers<T> buffers() { return {w.data(), g.data(), {s0.data(), s1.data(), s2.data()}}; }
  bool operator==(const State&) const = default;
};

// Slot 0 and 1 may be means of squares; slot 1 of centered RMSProp is then far from the deviation 0.
template <class T = float>
State<T> random_state(std::int64_t n, std::uint64_t seed) {
  const auto values = [&](std::uint64_t more, double low, double high) {
    const std::vector<float> from = random_values(n, seed + more, low, high);
    return std::vector<T>(from.begin(), from.end());
  };
  return {values(0, -2, 2), values(1, -2, 2), values(2, 1, 3), values(3, 0, 1), values(4, -2, 2)};
}

UpdateStep step_of(UpdateRule rule) {
  UpdateStep step = adam_step({.learning_rate = 0.02, .epsilon = 1e-3}, 3);
  step.rule = rule;
  if (rule != UpdateRule::adam) step.learning_rate = 0.1;
  step.gradient_scale = 0.25;
  step.weight_decay = 0.01;
  step.decoupled_decay = 0.05;
  step.direction_decay = 0.02;
  step.momentum = 0.9;
  step.first_moment_scale = 3.5;
  return step;
}

constexpr UpdateRule kRules[] = {UpdateRule::sgd,
                                 UpdateRule::momentum,
                                 UpdateRule::nesterov,
                                 UpdateRule::adam,
                                 UpdateRule::rmsprop,
                                 UpdateRule::rmsprop_momentum,
                                 UpdateRule::rmsprop_centered,
                                 UpdateRule::rmsprop_centered_momentum,
                                 UpdateRule::adagrad,
                                 UpdateRule::adadelta,
                                 UpdateRule::lars,
                                 UpdateRule::lamb};

// The textbook formulas, in double.
template <class T>
void expect_updated(UpdateRule rule, const State<T>& before, const State<T>& after, std::int64_t n) {
  constexpr double near = sizeof(T) == 4 ? 2e-6 : 1e-14, rate = 0.1, mu = 0.9, epsilon = 1e-3;
  const double root = std::sqrt(1 - std::pow(0.999, 3));
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    const double start = before.w[i], g = 0.25 * before.g[i] + 0.01 * start, w = 0.95 * start;
    double expected = 0, s0 = before.s0[i], s1 = before.s1[i], s2 = before.s2[i];
    const auto mean = [&](double& s) { s = 0.999 * s + 0.001 * g * g; };
    switch (rule) {
      case UpdateRule::sgd: expected = w - rate * g; break;
      case UpdateRule::momentum: s0 = mu * s0 + g, expected = w - rate * s0; break;
      case UpdateRule::nesterov: s0 = mu * s0 + g, expected = w - rate * (g + mu * s0); break;
      case UpdateRule::adam:
        s0 = 0.9 * s0 + 0.1 * g, mean(s1);
        expected = w - 0.02 / (1 - std::pow(0.9, 3)) * s0 / (std::sqrt(s1) / root + epsilon);
        break;
      case UpdateRule::rmsprop: mean(s0), expected = w - rate * g / (std::sqrt(s0) + epsilon); break;
      case UpdateRule::rmsprop_momentum:
        mean(s0), s1 = mu * s1 + g / (std::sqrt(s0) + epsilon), expected = w - rate * s1;
        break;
      case UpdateRule::rmsprop_centered:
        mean(s0), s1 = 0.999 * s1 + 0.001 * g;
        expected = w - rate * g / (std::sqrt(std::max(0.0, s0 - s1 * s1)) + epsilon);
        break;
      case UpdateRule::rmsprop_centered_momentum:
        mean(s0), s1 = 0.999 * s1 + 0.001 * g;
        s2 = mu * s2 + g / (std::sqrt(std::max(0.0, s0 - s1 * s1)) + epsilon), expected = w - rate * s2;
        break;
      case UpdateRule::adagrad: s0 += g * g, expected = w - rate * g / (std::sqrt(s0) + epsilon); break;
      case UpdateRule::adadelta: {
        mean(s0);
        const double delta = g * std::sqrt(s1 + epsilon) / std::sqrt(s0 + epsilon);
        s1 = 0.999 * s1 + 0.001 * delta * delta, expected = w - rate * delta;
        break;
      }
      case UpdateRule::lars: s0 = mu * s0 + rate * (g + 0.02 * w), expected = w - s0; break;
      case UpdateRule::lamb:
        s0 = 0.9 * s0 + 0.1 * g, mean(s1);
        expected = w - rate * (3.5 * s0 / (std::sqrt(s1) / root + epsilon) + 0.02 * w);
    }
    const auto expect_near = [&](double actual, double wanted, const char* what) {
      ASSERT_NEAR(actual, wanted, near * std::max(1.0, std::abs(wanted)))
          << what << " of element " << i << " by rule " << static_cast<int>(rule);
    };
    expect_near(after.w[i], expected, "the weight");
    expect_near(after.s0[i], s0, "slot 0");
    expect_near(after.s1[i], s1, "slot 1");
    expect_near(after.s2[i], s2, "slot 2");
  }
}

template <class T>
void expect_formulas_at_every_length() {
  for (Isa isa : available_isas()) {
    for (UpdateRule rule : kRules) {
      for (std::int64_t n = 0; n <= 70; ++n) {
        const State<T> before = random_state<T>(n + 1, 5);  // one more, which must stay
        State<T> after = before;
        apply_update(step_of(rule), after.buffers(), n, isa);
        expect_updated(rule, before, after, n);
        EXPECT_EQ(after.w.back(), before.w.back());
        EXPECT_EQ(after.s0.back(), before.s0.back());
        EXPECT_EQ(after.s1.back(), before.s1.back());
        EXPECT_EQ(after.s2.back(), before.s2.back());
      }
    }
  }
}

TEST(OptimizerKernels, FollowTheFormulasAtEveryLength) { expect_formulas_at_every_length<float>(); }
TEST(OptimizerKernels, FollowTheFormulasInDoublesToo) { expect_formulas_at_every_length<double>(); }

TEST(OptimizerKernels, RulesWithoutSlotsTouchNone) {
  std::vector<float> w = random_values(40, 1), g = random_values(40, 2);
  apply_update({.rule = UpdateRule::sgd, .learning_rate = 1}, {w.data(), g.data()}, 40);
}

TEST(OptimizerKernels, DecoupledDecayShrinksTheWeightBesideTheUpdate) {
  std::vector<float> w(3, 2.f), g(3, 1.f);
  apply_update({.rule = UpdateRule::sgd, .learning_rate = 0.5f, .decoupled_decay = 0.25f}, {w.data(), g.data()}, 3);
  EXPECT_FLOAT_EQ(w[0], 1.f);
}

template <class T>
void expect_the_same_bits_from_two_threads(std::int64_t n) {
  for (Isa isa : available_isas()) {
    for (UpdateRule rule : kRules) {
      State<T> one = random_state<T>(n, 9), two = one;
      {
        TeamScope team(1);
        apply_update(step_of(rule), one.buffers(), n, isa);
      }
      {
        TeamScope team(2);
        apply_update(step_of(rule), two.buffers(), n, isa);
      }
      EXPECT_EQ(one, two) << static_cast<int>(rule);
    }
  }
}

TEST(OptimizerKernels, OneAndTwoThreadsGiveTheSameBits) {
  expect_the_same_bits_from_two_threads<float>(50001);
  expect_the_same_bits_from_two_threads<double>(50001);
}

template <class T>
void expect_a_scale_to_be_a_product_made_before() {
  for (Isa isa : available_isas()) {
    for (UpdateRule rule : kRules) {
      UpdateStep step = step_of(rule);
      step.gradient_scale = 1.0 / 3;
      const State<T> before = random_state<T>(1003, 17);
      State<T> scaled = before, product = before;
      for (T& g : product.g) g *= static_cast<T>(step.gradient_scale);
      apply_update(step, scaled.buffers(), 1003, isa);
      step.gradient_scale = 1;
      apply_update(step, product.buffers(), 1003, isa);
      scaled.g = product.g;
      EXPECT_EQ(scaled, product) << static_cast<int>(rule);
    }
  }
}

// Copies of a variable stay equal where one's update multiplies and the other's is sent the product.
TEST(OptimizerKernels, AScaledGradientHasTheBitsOfAProductMadeBefore) {
  expect_a_scale_to_be_a_product_made_before<float>();
  expect_a_scale_to_be_a_product_made_before<double>();
}

template <class T>
void expect_zero_padding_to_stay() {
  const std::vector<T> zeros(20);
  for (Isa isa : available_isas()) {
    for (UpdateRule rule : kRules) {
      State<T> zero{zeros, zeros, zeros, zeros, zeros};
      const State<T> before = zero;
      UpdateStep step = step_of(rule);
      step.epsilon = 0;
      apply_update(step, zero.buffers(), 20, isa);
      EXPECT_EQ(zero, before) << static_cast<int>(rule);
    }
  }
}

TEST(OptimizerKernels, PaddingStaysZero) {
  expect_zero_padding_to_stay<float>();
  expect_zero_padding_to_stay<double>();
}

TEST(OptimizerKernels, ACenteredMeanSquareThatRoundsBelowZeroCountsAsZero) {
  std::vector<float> w(3, 1.f), g(3, 1.f), square(3, 0.25f), mean(3, 1.f);  // 0.25 - 1 < 0
  apply_update({.rule = UpdateRule::rmsprop_centered, .learning_rate = 0.5, .beta2 = 1, .rest2 = 0, .epsilon = 2},
               {w.data(), g.data(), {square.data(), mean.data()}}, 3);
  EXPECT_FLOAT_EQ(w[0], 0.75f);
}

// Weights O, I, spatial as tiles [O/B][I/B][spatial][B i][B o]; the copy is [I/B][O/B][spatial][B o][B i].
TEST(OptimizerKernels, ASecondBlockedLayoutIsWrittenAlong) {
  for (Isa isa : available_isas()) {
    for (int block : {8, 16}) {
      for (bool transpose : {false, true}) {
        const std::int64_t outer0 = 3, outer1 = 5, spatial = 9, size = block * block;
        const std::int64_t n = outer0 * outer1 * spatial * size;
        const State<float> before = random_state(n, 11);
        for (UpdateRule rule : kRules) {
          State<float> after = before, plain = before;
          std::vector<float> copy(static_cast<std::size_t>(n), -1.f);
          apply_update(step_of(rule), after.buffers(),
                       SecondCopy{.data = copy.data(),
                                  .outer0 = outer0,
                                  .outer1 = outer1,
                                  .spatial = spatial,
                                  .stride0 = spatial,
                                  .stride1 = outer0 * spatial,
                                  .stride_spatial = 1,
                                  .block = block,
                                  .transpose_tile = transpose},
                       isa);
          apply_update(step_of(rule), plain.buffers(), n, isa);
          EXPECT_EQ(after, plain);
          for (std::int64_t i = 0; i < n; ++i) {
            const std::int64_t column = i % block, row = i / block % block, s = i / size % spatial;
            const std::int64_t o1 = i / size / spatial % outer1, o0 = i / size / spatial / outer1;
            const std::int64_t inner = transpose ? column * block + row : row * block + column;
            const std::int64_t at = ((o1 * outer0 + o0) * spatial + s) * size + inner;
            ASSERT_EQ(copy[static_cast<std::size_t>(at)], after.w[static_cast<std::size_t>(i)]) << i;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace belfry
