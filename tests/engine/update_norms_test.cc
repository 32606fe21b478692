// The norms that LARS and LAMB adapt a rate by.
#include <gtest/gtest.h>

#include <cmath>

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/optimizer/update_norms_team.h"
#include "tests/engine/kernel_testing.h"

namespace belfry {
namespace {

template <class T>
std::vector<T> values(std::int64_t n, std::uint64_t seed, double low = -2) {
  const std::vector<float> from = random_values(n, seed, low, 2);
  return {from.begin(), from.end()};
}

UpdateStep step_of(UpdateRule rule) {
  UpdateStep step = adam_step({.learning_rate = 1, .epsilon = 1e-3}, 2);
  step.rule = rule;
  step.first_moment_scale = step.learning_rate;
  step.gradient_scale = 0.5;
  step.weight_decay = 0.125;
  step.direction_decay = 0.25;
  return step;
}

template <class T>
struct Operands {
  explicit Operands(std::int64_t n)
      : w(values<T>(n, 1)), g(values<T>(n, 2)), m(values<T>(n, 3)), v(values<T>(n, 4, 0)) {}
  UpdateBuffers<T> buffers() { return {w.data(), g.data(), {m.data(), v.data()}}; }
  // The sums over [begin, end) of the weights, in a naive loop; the gradient begins at `from`.
  UpdateNorms naive(UpdateRule rule, std::int64_t begin, std::int64_t end, std::int64_t from) const {
    UpdateNorms out;
    for (std::int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double x = w[at], gradient = 0.5 * g[static_cast<std::size_t>(i - begin + from)] + 0.125 * x;
      const double first = 0.9 * m[at] + 0.1 * gradient, second = 0.999 * v[at] + 0.001 * gradient * gradient;
      const double ratio = first / (1 - 0.81) / (std::sqrt(second) / std::sqrt(1 - 0.999 * 0.999) + 1e-3);
      const double direction = rule == UpdateRule::lars ? gradient : ratio + 0.25 * x;
      out.weights += x * x;
      out.direction += direction * direction;
    }
    return out;
  }
  std::vector<T> w, g, m, v;
};

template <class T>
void expect_near(const UpdateNorms& actual, const UpdateNorms& expected) {
  const double near = sizeof(T) == 4 ? 1e-5 : 1e-12;
  EXPECT_NEAR(actual.weights, expected.weights, near * expected.weights);
  EXPECT_NEAR(actual.direction, expected.direction, near * expected.direction);
}

template <class T>
void compare_with_a_loop() {
  for (Isa isa : available_isas())
    for (UpdateRule rule : {UpdateRule::lars, UpdateRule::lamb})
      for (std::int64_t n : {0, 1, 7, 16, 33, 16384, 50001}) {
        Operands<T> operands(n);
        std::vector<std::byte> scratch(norm_scratch_bytes(n));
        const Operands<T> before = operands;
        expect_near<T>(update_norms(step_of(rule), operands.buffers(), n, scratch.data(), isa),
                       before.naive(rule, 0, n, 0));
        EXPECT_EQ(operands.m, before.m) << "a pass that only reads";
        EXPECT_EQ(operands.v, before.v);
        EXPECT_EQ(operands.w, before.w);
      }
}

TEST(UpdateNorms, AreThoseOfANaiveLoop) {
  compare_with_a_loop<float>();
  compare_with_a_loop<double>();
}

TEST(UpdateNorms, OfRowsCountTheseRowsAlone) {
  constexpr std::int64_t rows = 9, width = 21;
  const std::int64_t ids[] = {1, 4, 8};
  for (UpdateRule rule : {UpdateRule::lars, UpdateRule::lamb}) {
    Operands<float> operands(rows * width);
    UpdateNorms expected;
    for (std::int64_t k = 0; k < 3; ++k) {
      const UpdateNorms one = operands.naive(rule, ids[k] * width, (ids[k] + 1) * width, k * width);
      expected.weights += one.weights;
      expected.direction += one.direction;
    }
    std::vector<std::byte> scratch(norm_scratch_bytes(3, width));
    expect_near<float>(update_norms(step_of(rule), operands.buffers(),
                                    UpdatedRows{.ids = ids, .wide = true, .count = 3, .width = width}, scratch.data()),
                       expected);
  }
}

TEST(UpdateNorms, AnyNumberOfThreadsGivesTheSameBits) {
  constexpr std::int64_t n = 100003, width = 1000;
  std::vector<std::int32_t> ids;
  for (std::int32_t i = 0; i < n / width; ++i) ids.push_back(i);
  const UpdatedRows rows{.ids = ids.data(), .count = static_cast<std::int64_t>(ids.size()), .width = width};
  Operands<float> operands(n);
  std::vector<std::byte> scratch(std::max(norm_scratch_bytes(n), norm_scratch_bytes(rows.count, width)));
  std::vector<double> first;
  for (int threads : {1, 2, 3}) {
    const TeamScope team(threads);
    const UpdateNorms whole = update_norms(step_of(UpdateRule::lamb), operands.buffers(), n, scratch.data());
    const UpdateNorms some = update_norms(step_of(UpdateRule::lamb), operands.buffers(), rows, scratch.data());
    const std::vector<double> now{whole.weights, whole.direction, some.weights, some.direction};
    if (first.empty()) first = now;
    EXPECT_EQ(now, first) << threads;
  }
}

}  // namespace
}  // namespace belfry
