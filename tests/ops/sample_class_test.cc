#include <algorithm>
#include <cmath>
#include <map>

#include "belfry/ops/array_ops.h"
#include "belfry/ops/sampling.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

class SampleClassTest : public OpTest {
 protected:
  // How often each class is drawn from 20,000 rows of these logits.
  std::map<std::int64_t, double> shares(const std::vector<float>& logits, const SampleOptions& options,
                                        const Feeds& feeds = {}) {
    constexpr std::int64_t kRows = 20'000;
    Array row(f32, {1, static_cast<std::int64_t>(logits.size())});
    std::ranges::copy(logits, row.values<float>().begin());
    std::map<std::int64_t, double> out;
    for (const std::int64_t drawn : values<std::int64_t>(sample_class(tile(input(row), {kRows, 1}), options), feeds))
      out[drawn] += 1.0 / kRows;
    return out;
  }
  static void expect_near(const std::map<std::int64_t, double>& got, const std::map<std::int64_t, double>& wanted) {
    ASSERT_EQ(got.size(), wanted.size());
    // Five deviations of a share of 20,000 draws are below 0.018.
    for (const auto& [drawn, share] : wanted) EXPECT_NEAR(got.at(drawn), share, 0.018) << drawn;
  }
  const std::vector<float> logits{std::log(0.1f), std::log(0.4f), std::log(0.2f), std::log(0.3f)};
};

TEST_F(SampleClassTest, AllClassesByDefault) {
  expect_near(shares(logits, {}), {{0, 0.1}, {1, 0.4}, {2, 0.2}, {3, 0.3}});
}

TEST_F(SampleClassTest, TemperatureSharpens) {
  // p^2, normalised.
  expect_near(shares(logits, {.temperature = 0.5f}), {{0, 1 / 30.0}, {1, 16 / 30.0}, {2, 4 / 30.0}, {3, 9 / 30.0}});
  EXPECT_EQ(shares(logits, {.temperature = 0.f}),
            (std::map<std::int64_t, double>{{1, shares(logits, {.temperature = 0.f})[1]}}));
}

TEST_F(SampleClassTest, TopKKeepsTheLargest) {
  expect_near(shares(logits, {.top_k = 2}), {{1, 4 / 7.0}, {3, 3 / 7.0}});
  expect_near(shares({1, 2, 2, 0}, {.top_k = 1}), {{1, 0.5}, {2, 0.5}});  // a tie
}

TEST_F(SampleClassTest, TopPKeepsTheFewestThatMakeUpTheShare) {
  expect_near(shares(logits, {.top_p = 0.39f}), {{1, 1}});
  expect_near(shares(logits, {.top_p = 0.5f}), {{1, 4 / 7.0}, {3, 3 / 7.0}});
  expect_near(shares(logits, {.top_p = 0.85f}), {{1, 4 / 9.0}, {2, 2 / 9.0}, {3, 3 / 9.0}});
  expect_near(shares(logits, {.top_p = 1e-6f}), {{1, 1}});
}

TEST_F(SampleClassTest, TopPIsTakenOfWhatTopKAndTemperatureLeave) {
  // Of {4, 3, 2} / 9 the first two make up 0.7.
  expect_near(shares(logits, {.top_k = 3, .top_p = 0.7f}), {{1, 4 / 7.0}, {3, 3 / 7.0}});
}

TEST_F(SampleClassTest, TemperatureAndTopPMayBeFed) {
  const Tensor temperature = placeholder(f32, {}), p = placeholder(f32, {});
  expect_near(shares(logits, {.temperature = temperature, .top_p = p}, {{temperature, Array(0.5f)}, {p, Array(0.55f)}}),
              {{1, 16 / 25.0}, {3, 9 / 25.0}});
}

TEST_F(SampleClassTest, ZeroThatIsFedTakesTheLargest) {
  const Tensor temperature = placeholder(f32, {}), p = placeholder(f32, {});
  expect_near(shares(logits, {.temperature = temperature}, {{temperature, Array(0.f)}}), {{1, 1}});
  expect_near(shares(logits, {.top_p = p}, {{p, Array(0.f)}}), {{1, 1}});
}

TEST_F(SampleClassTest, AnyNumberOfRowsAndAxes) {
  const Tensor x = placeholder(f32, {kAny, 3, 4});
  const Tensor y = sample_class(x, {.temperature = 0.7f, .top_k = 2, .top_p = 0.9f}, "drawn");
  EXPECT_EQ(y.name(), "drawn");
  EXPECT_EQ(to_string(y.shape()), "[?, 3]");
  Session session(graph);
  for (const std::int64_t batch : {2, 1, 0, 5})
    EXPECT_EQ(session.run(y, {{x, counting({batch, 3, 4})}}).shape(), Shape({batch, 3}));
}

TEST_F(SampleClassTest, OptionsOutOfRangeAreErrors) {
  const Tensor x = input(counting({2, 4}));
  const auto error = [&](const SampleOptions& options) { return error_of([&] { sample_class(x, options); }); };
  EXPECT_TRUE(
      error({.top_k = 5}).starts_with("[sample_class] expected .top_k in [0, 4], the number of classes, got 5 (at "));
  EXPECT_TRUE(
      error({.temperature = -1.f}).starts_with("[sample_class] expected a .temperature of 0 or more, got -1 (at "));
  EXPECT_TRUE(error({.top_p = 0.f}).starts_with("[sample_class] expected .top_p in (0, 1], got 0 (at "));
  EXPECT_TRUE(error({.temperature = placeholder(i64, {})})
                  .starts_with("[sample_class] expected .temperature and .top_p that are scalars of f32, got "));
  EXPECT_TRUE(error({.top_p = input(counting({2}))})
                  .starts_with("[sample_class] expected .temperature and .top_p that are scalars of f32, got "));
}

}  // namespace
}  // namespace belfry
