#include <gtest/gtest.h>

#include <cmath>

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/kernels/optimizer.h"
#include "tests/engine/kernel_testing.h"

namespace belfry {
namespace {

struct State {
  std::vector<float> w, g, s0, s1;
  UpdateBuffers buffers() { return {w.data(), g.data(), s0.data(), s1.data()}; }
};

State random_state(std::int64_t n, std::uint64_t seed) {
  return {random_values(n, seed), random_values(n, seed + 1), random_values(n, seed + 2),
          random_values(n, seed + 3, 0, 2)};
}

UpdateStep step_of(UpdateRule rule) {
  UpdateStep step = rule == UpdateRule::adam ? adam_step({.learning_rate = 0.02}, 3) : UpdateStep{};
  step.rule = rule;
  if (rule != UpdateRule::adam) step.learning_rate = 0.1f;
  step.gradient_scale = 0.25f;
  step.weight_decay = 0.01f;
  step.momentum = 0.9f;
  return step;
}

constexpr UpdateRule kRules[] = {UpdateRule::sgd, UpdateRule::momentum, UpdateRule::nesterov, UpdateRule::adam};

// The textbook formulas, in double.
void expect_updated(UpdateRule rule, const State& before, const State& after, std::int64_t n) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    const double w = before.w[i], g = 0.25 * before.g[i] + 0.01 * w;
    double expected = 0, s0 = before.s0[i], s1 = before.s1[i];
    switch (rule) {
      case UpdateRule::sgd: expected = w - 0.1 * g; break;
      case UpdateRule::momentum: s0 = 0.9 * s0 + g, expected = w - 0.1 * s0; break;
      case UpdateRule::nesterov: s0 = 0.9 * s0 + g, expected = w - 0.1 * (g + 0.9 * s0); break;
      case UpdateRule::adam:
        s0 = 0.9 * s0 + 0.1 * g, s1 = 0.999 * s1 + 0.001 * g * g;
        expected = w - 0.02 / (1 - std::pow(0.9, 3)) * s0 / (std::sqrt(s1) / std::sqrt(1 - std::pow(0.999, 3)) + 1e-8);
    }
    ASSERT_NEAR(after.w[i], expected, 1e-6) << i;
    ASSERT_NEAR(after.s0[i], s0, 1e-6) << i;
    ASSERT_NEAR(after.s1[i], s1, 1e-6) << i;
  }
}

TEST(OptimizerKernels, FollowTheFormulasAtEveryLength) {
  for (Isa isa : available_isas()) {
    for (UpdateRule rule : kRules) {
      for (std::int64_t n = 0; n <= 70; ++n) {
        const State before = random_state(n + 1, 5);  // one more, which must stay
        State after = before;
        apply_update(step_of(rule), after.buffers(), n, isa);
        expect_updated(rule, before, after, n);
        EXPECT_EQ(after.w.back(), before.w.back());
        EXPECT_EQ(after.s0.back(), before.s0.back());
        EXPECT_EQ(after.s1.back(), before.s1.back());
      }
    }
  }
}

TEST(OptimizerKernels, RulesWithoutSlotsTouchNone) {
  std::vector<float> w = random_values(40, 1), g = random_values(40, 2);
  apply_update({.rule = UpdateRule::sgd, .learning_rate = 1}, {w.data(), g.data(), nullptr, nullptr}, 40);
}

TEST(OptimizerKernels, DecoupledDecayShrinksTheWeightBesideTheUpdate) {
  std::vector<float> w(3, 2.f), g(3, 1.f);
  apply_update({.rule = UpdateRule::sgd, .learning_rate = 0.5f, .decoupled_decay = 0.25f}, {w.data(), g.data()}, 3);
  EXPECT_FLOAT_EQ(w[0], 1.f);
}

TEST(OptimizerKernels, OneAndTwoThreadsGiveTheSameBits) {
  constexpr std::int64_t n = 50001;
  for (Isa isa : available_isas()) {
    for (UpdateRule rule : kRules) {
      State one = random_state(n, 9), two = one;
      {
        TeamScope team(1);
        apply_update(step_of(rule), one.buffers(), n, isa);
      }
      {
        TeamScope team(2);
        apply_update(step_of(rule), two.buffers(), n, isa);
      }
      EXPECT_TRUE(same_bits(one.w, two.w) && same_bits(one.s0, two.s0) && same_bits(one.s1, two.s1));
    }
  }
}

TEST(OptimizerKernels, PaddingStaysZero) {
  for (Isa isa : available_isas()) {
    for (UpdateRule rule : kRules) {
      State zero{std::vector<float>(20), std::vector<float>(20), std::vector<float>(20), std::vector<float>(20)};
      UpdateStep step = step_of(rule);
      step.epsilon = 0;
      apply_update(step, zero.buffers(), 20, isa);
      EXPECT_EQ(zero.w, std::vector<float>(20));
    }
  }
}

// Weights O, I, spatial as tiles [O/B][I/B][spatial][B i][B o]; the copy is [I/B][O/B][spatial][B o][B i].
TEST(OptimizerKernels, ASecondBlockedLayoutIsWrittenAlong) {
  for (Isa isa : available_isas()) {
    for (int block : {8, 16}) {
      for (bool transpose : {false, true}) {
        const std::int64_t outer0 = 3, outer1 = 5, spatial = 9, size = block * block;
        const std::int64_t n = outer0 * outer1 * spatial * size;
        const State before = random_state(n, 11);
        State after = before, plain = before;
        std::vector<float> copy(static_cast<std::size_t>(n), -1.f);
        apply_update(step_of(UpdateRule::adam), after.buffers(),
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
        apply_update(step_of(UpdateRule::adam), plain.buffers(), n, isa);
        EXPECT_TRUE(same_bits(after.w, plain.w) && same_bits(after.s0, plain.s0) && same_bits(after.s1, plain.s1));
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

TEST(OptimizerKernels, ATransposedCopyIsWrittenAlong) {
  for (Isa isa : available_isas()) {
    for (std::int64_t rows : {1, 7, 16, 33, 130}) {
      for (std::int64_t columns : {1, 8, 15, 257, 600}) {
        State after = random_state(rows * columns, 13), plain = after;
        std::vector<float> copy(static_cast<std::size_t>(rows * columns), -1.f);
        apply_update(step_of(UpdateRule::momentum), after.buffers(),
                     TransposedCopy{.data = copy.data(), .rows = rows, .columns = columns}, isa);
        apply_update(step_of(UpdateRule::momentum), plain.buffers(), rows * columns, isa);
        EXPECT_TRUE(same_bits(after.w, plain.w) && same_bits(after.s0, plain.s0));
        for (std::int64_t r = 0; r < rows; ++r) {
          for (std::int64_t c = 0; c < columns; ++c) {
            ASSERT_EQ(copy[static_cast<std::size_t>(c * rows + r)], after.w[static_cast<std::size_t>(r * columns + c)]);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace belfry
