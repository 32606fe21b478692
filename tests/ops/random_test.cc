#include "belfry/ops/random.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "belfry/base/parallel.h"
#include "belfry/base/random.h"
#include "belfry/graph/gradients.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;

const bool random_rows[] = {
    gradient_row("Dropout", {"Dropout"}, [](X x) { return dropout(x[0], 0.4); }, {{{5, 3}}, {{}}, {{0, 3}}}),
    gradient_row("DropoutOfNothing", {"Dropout"}, [](X x) { return dropout(x[0], 0.0); }, {{{5, 3}}}),
};

struct Moments {
  double mean = 0, deviation = 0, least = 0, greatest = 0;
};
Moments moments(const std::vector<float>& v) {
  const double n = static_cast<double>(v.size());
  double sum = 0, squares = 0;
  for (float x : v) sum += x;
  for (float x : v) squares += (x - sum / n) * (x - sum / n);
  const auto [low, high] = std::ranges::minmax(v);
  return {sum / n, std::sqrt(squares / n), low, high};
}

class RandomTest : public OpTest {
 protected:
  std::vector<float> at_step(const Tensor& t, std::uint64_t step, int threads = 1) {
    Session session(graph, {.devices = {{.threads = threads}}});
    const Array out = session.run(std::vector<Fetch>{t}, {}, {.random_step = step})[0];
    return {out.values<float>().begin(), out.values<float>().end()};
  }
};

constexpr std::int64_t kMany = 40001;  // not a multiple of four

TEST_F(RandomTest, DistributionsHaveTheirMoments) {
  const Moments u = moments(floats(random_uniform({kMany}, {.low = -1, .high = 3})));
  EXPECT_NEAR(u.mean, 1, 0.02);
  EXPECT_NEAR(u.deviation, 4 / std::sqrt(12.0), 0.02);
  EXPECT_GE(u.least, -1);
  EXPECT_LT(u.greatest, 3);
  const Moments n = moments(floats(random_normal({kMany}, {.mean = 2, .stddev = 3})));
  EXPECT_NEAR(n.mean, 2, 0.06);
  EXPECT_NEAR(n.deviation, 3, 0.05);
  EXPECT_GT(n.greatest, 2 + 3 * 3.5);
  const Moments t = moments(floats(truncated_normal({kMany}, {.mean = 2, .stddev = 3})));
  EXPECT_NEAR(t.mean, 2, 0.05);
  EXPECT_NEAR(t.deviation, 3 * 0.8796, 0.05);  // of a normal cut at two deviations
  EXPECT_GE(t.least, 2 - 3 * 2.0);
  EXPECT_LE(t.greatest, 2 + 3 * 2.0);
}

TEST_F(RandomTest, AnElementIsAFunctionOfSeedsStepAndIndex) {
  graph.set_seed(5);
  const Tensor t = random_uniform({7}, {}, "noise");
  const std::uint64_t key = mix_seed(5, mix_seed(seed_of("noise"), 0));
  const auto got = at_step(t, 9);
  for (std::size_t i = 0; i < 7; ++i) {
    const PhiloxBlock block = philox({static_cast<std::uint32_t>(i / 4), 0, 9, 0},
                                     {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)});
    EXPECT_EQ(got[i], static_cast<float>(block[i % 4] >> 8) * 0x1p-24f);
  }
}

TEST_F(RandomTest, StepsNamesTowersAndGraphSeedsGiveOtherNumbers) {
  const Tensor a = random_normal({8}), b = random_normal({8});
  EXPECT_EQ(at_step(a, 1), at_step(a, 1));
  EXPECT_NE(at_step(a, 1), at_step(a, 2));
  EXPECT_NE(at_step(a, 1), at_step(b, 1));
  const ReplicaScope second(1);
  EXPECT_NE(random_normal({8}).node()->attributes.integer("seed"), a.node()->attributes.integer("seed"));
  const auto before = at_step(a, 1);
  graph.set_seed(1);
  EXPECT_NE(at_step(a, 1), before);
}

TEST_F(RandomTest, TheNumberOfThreadsDoesNotMatter) {
  const Tensor x = random_normal({kMany}), t = truncated_normal({kMany}),
               d = dropout(constant(Array::full(f32, {kMany}, 1)), 0.5);
  for (const Tensor& tensor : {x, t, d}) EXPECT_EQ(at_step(tensor, 3, 1), at_step(tensor, 3, 2));
}

TEST_F(RandomTest, BothTypesHoldTheSameDraws) {
  const Tensor single = random_normal({9}, {}, "a/noise");
  Graph other;
  const GraphScope inner(other);
  const Tensor wide = random_normal({9}, {.dtype = f64}, "a/noise");
  Session session(other);
  const Array got = session.run(std::vector<Fetch>{wide}, {}, {.random_step = 4})[0];
  const auto wanted = at_step(single, 4);
  for (std::int64_t i = 0; i < 9; ++i) EXPECT_EQ(static_cast<float>(got.item(i)), wanted[static_cast<std::size_t>(i)]);
}

TEST_F(RandomTest, DropoutKeepsTheShareAndTheScale) {
  const auto y = floats(dropout(constant(Array::full(f32, {kMany}, 3)), 0.25));
  const auto dropped = std::ranges::count(y, 0.f), kept = std::ranges::count(y, 4.f);
  EXPECT_EQ(dropped + kept, kMany);
  EXPECT_NEAR(static_cast<double>(dropped) / kMany, 0.25, 0.01);
}

TEST_F(RandomTest, TheGradientOfDropoutHasTheSameMask) {
  const Tensor x = constant(Array::full(f32, {100}, 1)), y = dropout(x, 0.5);
  const Tensor dx = gradients({y}, {x})[0];
  Session session(graph);
  const std::vector<Array> out = session.run({y, dx});
  EXPECT_TRUE(equal(out[0], out[1]));
  EXPECT_EQ(dx.node()->attributes.integer("seed"), y.node()->attributes.integer("seed"));
}

TEST_F(RandomTest, MistakesAreNamedWithTheCallersLine) {
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const Tensor x = placeholder(f32, {2});
  has(error_of([&] { dropout(x, 1.0, "drop"); }), "[Dropout 'drop'] expected a rate in [0, 1), got 1");
  has(error_of([&] { dropout(x, -0.1); }), "expected a rate in [0, 1), got -0.1");
  has(error_of([&] { dropout(placeholder(i32, {2}), 0.5); }), "expected x of a floating type, got i32");
  has(error_of([] { random_uniform({2}, {.low = 1, .high = 0}); }),
      "expected finite bounds with low <= high, got 1 and 0");
  has(error_of([] { random_normal({kAny}); }), "expected a shape that is fully known, got [?]");
  has(error_of([] { truncated_normal({2}, {.stddev = -1}); }),
      "expected a finite mean and a deviation from 0 up, got 0 and -1");
  has(error_of([] { random_normal({2}, {.dtype = i32}); }), fmt::format("random_test.cc:{}", __LINE__));
}

}  // namespace
}  // namespace belfry
