// Sources that are made, not read: functions, generators, ranges and fake data.
#include <algorithm>
#include <list>
#include <ranges>
#include <set>

#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/prefetch.h"
#include "belfry/dataflow/shuffle.h"
#include "belfry/dataflow/sources/fake.h"
#include "belfry/dataflow/sources/function.h"
#include "belfry/dataflow/sources/generator.h"
#include "tests/dataflow/restore_checks.h"

namespace belfry {
namespace {

// Point i of epoch e is 100 e + i; a pass has `count` points.
std::optional<DataPoint> counted(std::uint64_t epoch, std::int64_t index, std::int64_t count) {
  if (index >= count) return std::nullopt;
  return DataPoint{Array(static_cast<std::int64_t>(100 * epoch) + index)};
}

Flow unsized(int count) {
  return from_function([=](std::uint64_t epoch, std::int64_t index) { return counted(epoch, index, count); });
}

Flow sized(int count) {
  return from_function([=](std::uint64_t epoch, std::int64_t index) { return counted(epoch, index, count); },
                       {.size = count});
}

Flow generated(int count, GeneratorOptions options = {}) {
  return from_generator(
      [=](std::uint64_t epoch) {
        return [=, index = std::int64_t{0}]() mutable { return counted(epoch, index++, count); };
      },
      options);
}

TEST(FromFunction, EndsWhereTheFunctionReturnsNothing) {
  Flow flow = unsized(3);
  EXPECT_EQ(flow.size(), std::nullopt);
  EXPECT_EQ(flow->random_access(), nullptr);
  EXPECT_EQ(pass(flow, 2), (std::vector<int>{200, 201, 202}));
  EXPECT_EQ(flow.next(), std::nullopt);
  EXPECT_EQ(pass(flow, 0), (std::vector<int>{0, 1, 2}));
}

TEST(FromFunction, WithASizeCanBeShuffled) {
  Flow flow = sized(40);
  EXPECT_EQ(flow.known_size(), 40);
  Flow shuffled = flow | shuffle(1);
  std::vector<int> values = pass(shuffled, 1);
  EXPECT_FALSE(std::ranges::is_sorted(values));
  std::ranges::sort(values);
  EXPECT_EQ(values.front(), 100);
  EXPECT_EQ(values.back(), 139);
  EXPECT_EQ(std::set<int>(values.begin(), values.end()).size(), 40u);
}

TEST(FromFunction, TakesAFunctionOfTheIndexAlone) {
  Flow flow = from_function([](std::int64_t i) { return DataPoint{Array(i * i)}; }, {.size = 4, .name = "squares"});
  EXPECT_EQ(pass(flow, 7), (std::vector<int>{0, 1, 4, 9}));
  EXPECT_EQ(flow.describe(), "squares");
}

TEST(FromFunction, SaysWhatIsWrong) {
  EXPECT_EQ(error_of([] { from_function(EpochIndexFunction()); }),
            "[from_function] expected a function, got an empty one.");
  EXPECT_EQ(error_of([] { from_function([](std::int64_t) { return DataPoint{}; }, {.size = -1}); }),
            "[from_function] expected a size of 0 or more points, got -1.");
  Flow short_one = from_function([](std::uint64_t epoch, std::int64_t i) { return counted(epoch, i, 2); }, {.size = 3});
  EXPECT_EQ(error_of([&] { pass(short_one, 1); }),
            "[from_function] expected 3 points of 'function' in epoch 1, got nothing for point 2. Give the correct "
            "size, or none.");
  Flow failing = from_function([](std::int64_t) -> DataPoint { throw FileError("no such luck"); });
  EXPECT_EQ(error_of<FileError>([&] { failing.next(); }),
            "[from_function] the function of 'function' failed at point 0 of epoch 0: no such luck");
}

TEST(FromGenerator, MakesAGeneratorForEachPass) {
  Flow flow = generated(3);
  EXPECT_EQ(drain(flow), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(flow.next(), std::nullopt);
  EXPECT_EQ(pass(flow, 5), (std::vector<int>{500, 501, 502}));
  EXPECT_EQ(generated(3, {.size = 3}).known_size(), 3);
}

TEST(FromGenerator, RestoringSkipsWhatWasGiven) {
  int made = 0;
  Flow flow = from_generator([&](std::uint64_t) {
    ++made;
    return [i = 0]() mutable { return std::optional(DataPoint{Array(i++)}); };
  });
  for (int i = 0; i < 5; ++i) flow.next();
  flow.restore(flow.state());
  EXPECT_EQ(made, 2);
  EXPECT_EQ((*flow.next())[0].item(), 5);
}

TEST(FromGenerator, SaysWhatIsWrong) {
  EXPECT_EQ(error_of([] { from_generator(nullptr); }),
            "[from_generator] expected a function that makes generators, got an empty one.");
  EXPECT_EQ(error_of([] { from_generator([](std::uint64_t) { return Generator(); }).next(); }),
            "[from_generator] the generator of 'generator' failed at point 0 of epoch 0: [from_generator] expected a "
            "generator, got an empty function.");
  Flow flow = generated(3, {.size = 4});
  EXPECT_EQ(error_of([&] { drain(flow); }),
            "[from_generator] expected 4 points of 'generator' in epoch 0, got 3. Give the correct size, or none.");
  EXPECT_EQ(error_of([&] { flow.next(); }),
            "[from_generator] expected a pass that goes on, got one that ended with an error. Call start_epoch() or "
            "restore() first.");
  Flow shorter = generated(2);
  EXPECT_EQ(error_of([&] { shorter.restore({"generator", {{"epoch", 0}, {"position", 3}}, {}}); }),
            "[restore] expected at least 3 points of 'generator' in epoch 0, got 2. The source has changed.");
}

TEST(FromRange, TakesWhateverIsLikeAPoint) {
  EXPECT_EQ(drain(from_range(std::vector<int>{3, 1, 2})), (std::vector<int>{3, 1, 2}));
  EXPECT_EQ(drain(from_range(std::list<double>{3, 1})), (std::vector<int>{3, 1}));
  EXPECT_EQ(drain(from_range(numbered_points(3))), upto(3));
  Flow odd = from_range(std::views::iota(0, 6) | std::views::transform([](int i) { return Array(2 * i + 1); }));
  EXPECT_EQ(drain(odd), (std::vector<int>{1, 3, 5, 7, 9, 11}));
  EXPECT_EQ(pass(odd, 1), (std::vector<int>{1, 3, 5, 7, 9, 11}));
}

TEST(FromRange, OneThatCanBeIndexedHasRandomAccess) {
  EXPECT_NE(from_range(std::vector<float>{1, 2})->random_access(), nullptr);
  EXPECT_EQ(from_range(std::vector<float>{1, 2}).known_size(), 2);
  EXPECT_EQ(from_range(std::list<float>{1, 2})->random_access(), nullptr);
}

TEST(FakeData, IsAFunctionOfSeedEpochAndIndex) {
  const std::vector<FakeSpec> specs{{f32, {8}}, {i32, {}, 0, 1000}};
  Flow a = fake_data(specs, {.size = 20, .seed = 1}), b = fake_data(specs, {.size = 20, .seed = 1});
  Flow other = fake_data(specs, {.size = 20, .seed = 2});
  const std::vector<DataPoint> points = points_left(a), others = points_left(other);
  expect_same(points_left(b), points);
  a.start_epoch(1);
  const std::vector<DataPoint> next_pass = points_left(a);
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_FALSE(same(points[i], others[i]));
    EXPECT_FALSE(same(points[i], next_pass[i]));
    EXPECT_FALSE(i > 0 && same(points[i], points[0]));
  }
}

TEST(FakeData, StaysWithinItsLimits) {
  Flow flow =
      fake_data({{f32, {100}, -1, 2}, {f64, {100}, 5, 6}, {u8, {100}, 0, 256}, {i64, {100}, -2, 1}, {boolean, {100}}},
                {.size = 20});
  std::set<double> bytes, longs, booleans;
  double lowest = 9, highest = -9;
  while (const std::optional<DataPoint> point = flow.next()) {
    for (int i = 0; i < 100; ++i) {
      lowest = std::min(lowest, (*point)[0].item(i)), highest = std::max(highest, (*point)[0].item(i));
      EXPECT_TRUE((*point)[1].item(i) >= 5 && (*point)[1].item(i) < 6);
      bytes.insert((*point)[2].item(i)), longs.insert((*point)[3].item(i)), booleans.insert((*point)[4].item(i));
    }
  }
  EXPECT_TRUE(lowest >= -1 && lowest < -0.9 && highest > 1.9 && highest < 2);
  EXPECT_GT(bytes.size(), 250u);
  EXPECT_EQ(longs, (std::set<double>{-2, -1, 0}));
  EXPECT_EQ(booleans, (std::set<double>{0, 1}));
}

TEST(FakeData, FloatsNeverReachTheUpperLimit) {
  Flow flow = fake_data({{f32, {1000}, 16777216, 16777218}}, {.size = 10});  // one float lies between
  while (const std::optional<DataPoint> point = flow.next())
    for (const float value : (*point)[0].values<float>()) ASSERT_LT(value, 16777218.f);
}

TEST(FakeData, BatchesOfRowsHoldThePoints) {
  const std::vector<FakeSpec> specs{{f32, {3}}, {i32, {}, 0, 9}};
  for (const bool fixed : {false, true}) {
    Flow batches = fake_data(specs, {.size = 4, .fixed = fixed}) | batch(4);
    Flow points = fake_data(specs, {.size = 4, .fixed = fixed});
    const DataPoint all = *batches.next();
    for (int row = 0; row < 4; ++row) {
      const DataPoint point = *points.next();
      for (int i = 0; i < 3; ++i) EXPECT_EQ(all[0].item(3 * row + i), point[0].item(i));
      EXPECT_EQ(all[1].item(row), point[1].item());
    }
  }
}

TEST(FakeData, AFixedPointIsMadeOnce) {
  Flow flow = fake_data({{f32, {4}}}, {.size = 3, .fixed = true});
  const DataPoint first = *flow.next();
  EXPECT_EQ((*flow.next())[0].raw(), first[0].raw());
  EXPECT_EQ(pass(flow, 1).size(), 12u);
}

TEST(FakeData, SaysWhatIsWrong) {
  EXPECT_EQ(error_of([] { fake_data({{f32, {kAny}}}); }),
            "[fake_data] expected a shape without unknown dimensions, got [?].");
  EXPECT_EQ(error_of([] { fake_data({{f32, {}, 1, 1}}); }),
            "[fake_data] expected finite limits with low < high, got 1 and 1.");
  EXPECT_EQ(error_of([] { fake_data({{u8, {}, 0, 300}}); }),
            "[fake_data] expected whole limits between 0 and 256 for u8, got 0 and 300.");
  EXPECT_EQ(error_of([] { fake_data({{i32, {}, 0, 0.5}}); }),
            "[fake_data] expected whole limits between -2147483648 and 2147483648 for i32, got 0 and 0.5.");
  EXPECT_EQ(error_of([] { fake_data({}, {.size = -1}); }), "[fake_data] expected a size of 0 or more points, got -1.");
  Flow flow = fake_data({{f32}}, {.seed = 1}), other = fake_data({{f32}}, {.seed = 2});
  EXPECT_TRUE(contains(error_of([&] { flow.restore(other.state()); }), "with seed = 1, got 2"));
}

TEST(MadeSources, RestoreEverywhere) {
  expect_exact_restore([] { return unsized(6); });
  expect_exact_restore([] { return sized(6) | shuffle(2); });
  expect_exact_restore([] { return generated(6); });
  expect_exact_restore([] { return generated(7) | prefetch(2) | batch(2, Remainder::keep); });
  expect_exact_restore([] { return from_range(std::list<int>{4, 2, 3}); });
  expect_exact_restore([] { return fake_data({{f32, {2}}, {u8, {}, 0, 256}}, {.size = 5, .seed = 3}); });
  expect_exact_restore([] { return fake_data({{f32, {2}}}, {.size = 5}) | shuffle(1) | batch(2); });
}

}  // namespace
}  // namespace belfry
