#include "belfry/ops/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "belfry/ops/pointwise.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
using Longs = std::vector<std::int64_t>;

const bool sampling_row =
    gradient_row("RandomShuffle", {"GatherNd", "ScatterNd"},
                 [](const Tensors& x) { return random_shuffle(square(x[0])); }, {{{5, 2}}, {{4}}, {{0, 2}}, {{1, 3}}});

class SamplingTest : public OpTest {
 protected:
  template <class T>
  std::vector<T> at_step(const Tensor& t, std::uint64_t step, int threads = 1) {
    Session session(graph, {.devices = {{.threads = threads}}});
    const Array out = session.run(std::vector<Fetch>{t}, {}, {.random_step = step})[0];
    return {out.values<T>().begin(), out.values<T>().end()};
  }
};

TEST_F(SamplingTest, BernoulliGivesOneAsOftenAsAsked) {
  constexpr std::int64_t n = 50'001;
  for (const double p : {0.0, 0.2, 1.0}) {
    const std::vector<float> y = floats(bernoulli(fill({n}, p)));
    const double share = static_cast<double>(std::ranges::count(y, 1.f)) / static_cast<double>(n);
    EXPECT_NEAR(share, p, 3.5 * std::sqrt(p * (1 - p) / static_cast<double>(n)));
    EXPECT_EQ(std::ranges::count(y, 0.f) + std::ranges::count(y, 1.f), n);
  }
  const std::vector<bool> truth = bools(bernoulli(input(Array::of<double>({3}, {1, 0, 1})), {.dtype = boolean}));
  EXPECT_EQ(truth, (std::vector<bool>{true, false, true}));
}

TEST_F(SamplingTest, ClassesComeAsOftenAsSoftmaxSays) {
  constexpr std::int64_t n = 40'000;
  const Tensor logits = constant(Array::of<double>(
      {2, 4}, {std::log(0.1) + 50, -kInf, std::log(0.3) + 50, std::log(0.6) + 50, -1000, -1001, -kInf, -1e9}));
  const double wanted[2][4] = {{0.1, 0, 0.3, 0.6}, {1 / (1 + std::exp(-1.0)), 1 - 1 / (1 + std::exp(-1.0)), 0, 0}};
  for (const DType dtype : {f32, f64}) {
    const Longs y = at_step<std::int64_t>(categorical(cast(logits, dtype), n), 3);
    for (std::int64_t row = 0; row < 2; ++row) {
      double counts[4] = {};
      for (std::int64_t i = 0; i < n; ++i) ++counts[y[static_cast<std::size_t>(row * n + i)]];
      for (int k = 0; k < 4; ++k) {
        const double p = wanted[row][k];
        EXPECT_NEAR(counts[k] / static_cast<double>(n), p, 3.5 * std::sqrt(p * (1 - p) / static_cast<double>(n)))
            << row << " " << k;
      }
    }
  }
  EXPECT_EQ(categorical(placeholder(f32, {kAny, 5, 7}), 2).shape(), Shape({kAny, 5, 2}));
}

TEST_F(SamplingTest, AShuffleIsAPermutationAndEveryOneIsAsLikely) {
  const std::vector<float> y = floats(random_shuffle(input(counting({1000}))));
  std::vector<float> sorted = y;
  std::ranges::sort(sorted);
  EXPECT_NE(y, sorted);
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(sorted[i], static_cast<float>(i));
  const Tensor three = random_shuffle(constant(counting({3})));
  int counts[27] = {};
  constexpr int kRuns = 6000;
  Session session(graph);
  for (int i = 0; i < kRuns; ++i) {
    const Array p = session.run(std::vector<Fetch>{three}, {}, {.random_step = static_cast<std::uint64_t>(i)})[0];
    ++counts[static_cast<int>(p.item(0) * 9 + p.item(1) * 3 + p.item(2))];
  }
  int kinds = 0;
  for (int count : counts) {
    if (count == 0) continue;
    ++kinds;
    EXPECT_NEAR(count, kRuns / 6, 4 * std::sqrt(kRuns / 6.0));
  }
  EXPECT_EQ(kinds, 6);
  const Tensor rows = random_shuffle(input(counting({3, 2})));
  const std::vector<float> pairs = floats(rows);
  for (std::size_t i = 0; i < 6; i += 2) EXPECT_EQ(pairs[i] + 1, pairs[i + 1]) << "rows stay together";
}

TEST_F(SamplingTest, DrawsDependOnTheStepAndNotOnTheTeam) {
  const Tensor coins = bernoulli(fill({30'000}, 0.5)), classes = categorical(fill({30'000, 3}, 0), 1),
               order = random_shuffle(constant(counting({5000})));
  EXPECT_EQ(at_step<float>(coins, 1), at_step<float>(coins, 1, 2));
  EXPECT_NE(at_step<float>(coins, 1), at_step<float>(coins, 2));
  EXPECT_EQ(at_step<std::int64_t>(classes, 1), at_step<std::int64_t>(classes, 1, 2));
  EXPECT_NE(at_step<std::int64_t>(classes, 1), at_step<std::int64_t>(classes, 2));
  EXPECT_EQ(at_step<float>(order, 1), at_step<float>(order, 1, 2));
  EXPECT_NE(at_step<float>(order, 1), at_step<float>(order, 2));
}

TEST_F(SamplingTest, RowsThatAreNoDistributionEndTheRun) {
  const Tensor logits = placeholder(f32, {kAny, 2}, "logits"), y = categorical(logits, 1, "draw");
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& bad : {std::pair{-inf, -inf}, std::pair{nan, 0.f}, std::pair{inf, 0.f}}) {
    const std::string text =
        error_of([&] { run(y, {{logits, Array::of<float>({2, 2}, {0, 0, bad.first, bad.second})}}); });
    EXPECT_NE(
        text.find("[Categorical 'draw'] expected finite logits, or -infinity for some classes, got none that give "
                  "probabilities in row 1 of 2 (made at sampling_test.cc:"),
        std::string::npos)
        << text;
  }
  EXPECT_EQ(run(y, {{logits, Array::of<float>({1, 2}, {0, -inf})}}).item(0), 0);
  EXPECT_EQ(run(y, {{logits, Array(f32, {0, 2})}}).shape(), Shape({0, 1}));
}

TEST_F(SamplingTest, MistakesNameWhatIsWrong) {
  const auto expect_error = [](const auto& f, const char* wanted) {
    const std::string text = error_of(f);
    EXPECT_NE(text.find(wanted), std::string::npos) << text;
  };
  expect_error([&] { bernoulli(placeholder(i32, {2})); }, "expected probabilities of a floating type, got i32");
  expect_error([&] { categorical(placeholder(f32, {2, 0}), 1); },
               "expected logits of shape [..., classes] with at least one class, got [2, 0]");
  expect_error([&] { categorical(placeholder(f32, {2, 3}), -1); }, "expected 0 samples or more, got -1");
  expect_error([&] { random_shuffle(input(1.f)); }, "expected a tensor of rank 1 or more, got a scalar");
}

}  // namespace
}  // namespace belfry
