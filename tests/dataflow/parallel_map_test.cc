// map() with threads: the same points whatever the threads do, and no thread left behind.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "belfry/base/mutex.h"
#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/cache.h"
#include "belfry/dataflow/fan_out.h"
#include "belfry/dataflow/fixed_size.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/prefetch.h"
#include "belfry/dataflow/repeat.h"
#include "belfry/dataflow/repeat_each.h"
#include "belfry/dataflow/select.h"
#include "belfry/dataflow/shard.h"
#include "belfry/dataflow/shuffle.h"
#include "belfry/dataflow/zip.h"
#include "tests/dataflow/flow_testing.h"

namespace belfry {
namespace {

// Ten times the value plus a digit of the point's own; multiples of seven are dropped.
std::optional<DataPoint> change(const DataPoint& point, RandomStream& random) {
  const int value = static_cast<int>(point[0].item());
  if (value % 7 == 0) return std::nullopt;
  return DataPoint{Array(10 * value + static_cast<int>(random.below(10)))};
}

class ParallelMap : public testing::TestWithParam<std::tuple<int, int, bool>> {
 protected:
  static int threads() { return std::get<0>(GetParam()); }
  static int buffer() { return std::get<1>(GetParam()); }
  static Flow source(int count) {
    return std::get<2>(GetParam()) ? numbered(count) | shuffle(9) : Flow(Sequential(count));
  }
  static Flow parallel(Flow flow, bool ordered = true) {
    return std::move(flow) | map(change, {.seed = 5, .threads = threads(), .ordered = ordered, .buffer = buffer()});
  }
  static Flow plain(Flow flow) { return std::move(flow) | map(change, {.seed = 5}); }
};
INSTANTIATE_TEST_SUITE_P(All, ParallelMap,
                         testing::Combine(testing::Values(1, 2, 4), testing::Values(0, 1, 3), testing::Bool()));

TEST_P(ParallelMap, InOrderGivesWhatOneThreadGives) {
  Flow flow = parallel(source(200));
  for (const std::uint64_t epoch : {0, 3}) EXPECT_EQ(pass(flow, epoch), pass(plain(source(200)), epoch));
  EXPECT_EQ(flow.next(), std::nullopt);
}

TEST_P(ParallelMap, OutOfOrderGivesTheSamePoints) {
  Flow flow = parallel(source(200), false);
  for (const std::uint64_t epoch : {0, 3}) {
    std::vector<int> expected = pass(plain(source(200)), epoch), got = pass(flow, epoch);
    std::ranges::sort(expected);
    std::ranges::sort(got);
    EXPECT_EQ(got, expected);
  }
}

TEST_P(ParallelMap, OutOfOrderAPositionBringsBackJustWhatIsMissing) {
  const std::vector<int> all = pass(plain(source(60)), 1);
  const std::multiset<int> expected(all.begin(), all.end());
  Flow flow = parallel(source(60), false);
  for (std::size_t at = 0; at <= all.size(); at += 4) {
    flow.start_epoch(1);
    std::multiset<int> got;
    for (std::size_t i = 0; i < at; ++i) got.insert(static_cast<int>((*flow.next())[0].item()));
    Flow resumed = parallel(source(60), false);
    resumed.restore(flow_state_from_string(to_string(flow.state())));
    // Once more, in the middle of what was restored.
    for (int i = 0; i < 3; ++i)
      if (const std::optional<DataPoint> point = resumed.next()) got.insert(static_cast<int>((*point)[0].item()));
    Flow again = parallel(source(60), false);
    again.restore(resumed.state());
    for (const int value : drain(again)) got.insert(value);
    EXPECT_EQ(got, expected) << at;
  }
}

TEST(ParallelMapOrder, WhatDependsOnItRefusesAMapWithoutOne) {
  const auto unordered = [] { return numbered(20) | map(change, {.threads = 2, .ordered = false}); };
  EXPECT_FALSE(unordered()->ordered());
  EXPECT_FALSE((unordered() | batch(2) | prefetch(2) | repeat())->ordered());
  EXPECT_TRUE(numbered(3)->ordered());
  EXPECT_EQ(error_of([&] { unordered() | shuffle_local(4); }),
            "[shuffle_local] expected points in the same order every time, got 'list | map(2 threads)', which has a "
            "map() with .ordered = false. Keep that map() in order, or move it after this.");
  const auto refuses = [&](const FlowStage& stage, const std::string& who) {
    const std::string error = error_of([&] { unordered() | stage; });
    EXPECT_TRUE(contains(error, "[" + who + "] expected points in the same order every time")) << error;
  };
  refuses(map(change), "map");  // its random numbers are by index
  refuses(map(change, {.threads = 2}), "map");
  refuses(filter([](const DataPoint&) { return true; }, {.threads = 2, .ordered = false}), "filter");
  refuses(repeat_each(2), "repeat_each");
  refuses(batch_by_shape(2), "batch_by_shape");
  refuses(shard({.rank = 0, .size = 2}), "shard");
  refuses(fixed_size(5), "fixed_size");
  refuses(cache_in_memory(), "cache_in_memory");
  EXPECT_TRUE(contains(error_of([&] { zip({numbered(3), unordered()}); }), "[zip] expected points in the same order"));
  EXPECT_TRUE(contains(error_of([&] { fan_out(unordered()); }), "[fan_out] expected points in the same order"));
}

TEST(ParallelMapOrder, BehindOneWithoutAPositionBringsBackJustWhatIsMissing) {
  const auto keep = [](const DataPoint& point) { return point[0].item() != 5; };
  const auto plain = [](DataPoint point) { return point; };
  const std::vector<FlowStage> stages{prefetch(3),  repeat(2),   map(plain), map(plain, {.threads = 2}),
                                      filter(keep), select({0}), batch(1),   batch(3, Remainder::keep)};
  for (const FlowStage& stage : stages) {
    const auto make = [&] { return numbered(30) | map(change, {.threads = 2, .ordered = false}) | stage; };
    SCOPED_TRACE(make().describe());
    const std::vector<int> all = drain(make());
    for (int at = 0; at < 10; at += 3) {
      Flow flow = make(), resumed = make();
      std::vector<int> got;
      for (int i = 0; i < at; ++i) {
        const DataPoint point = *flow.next();
        for (std::int64_t k = 0; k < point[0].elements(); ++k) got.push_back(static_cast<int>(point[0].item(k)));
      }
      resumed.restore(flow_state_from_string(to_string(flow.state())));
      std::ranges::copy(drain(resumed), std::back_inserter(got));
      EXPECT_EQ(std::multiset<int>(got.begin(), got.end()), std::multiset<int>(all.begin(), all.end())) << at;
    }
  }
}

TEST(ParallelMapOrder, AStateInTheMiddleOfOneWithoutDoesNotFitAMapWithoutThreads) {
  const FlowState state{"map", {{"index", 2}, {"consumed0", 3}}, {numbered(9).state()}};
  Flow plain = numbered(9) | map([](DataPoint point) { return point; });
  EXPECT_EQ(error_of([&] { plain.restore(state); }),
            "[restore] expected the state of a 'map' in order, got one with .ordered = false in the middle of a pass. "
            "Restore it into one with .threads, as it was built.");
}

TEST_P(ParallelMap, AnErrorArrivesOnceInThePlaceOfItsPoint) {
  bool fail = true;  // only between passes is it changed
  const auto function = [&](DataPoint point) {
    if (fail && point[0].item() == 13) throw FileError("no such luck");
    return point;
  };
  Flow flow = Sequential(40) | map(function, {.threads = threads(), .buffer = buffer()});
  for (int i = 0; i < 13; ++i) ASSERT_EQ((*flow.next())[0].item(), i);
  const FlowState before = flow.state();
  EXPECT_EQ(error_of<FileError>([&] { flow.next(); }),
            fmt::format("[map] the function of 'sequential | map({} threads)' failed at point 13 of epoch 0: no such "
                        "luck",
                        threads()));
  EXPECT_EQ(error_of([&] { flow.next(); }),
            "[map] expected a pass that goes on, got one that ended with an error. Call start_epoch() or restore() "
            "first.");
  EXPECT_EQ(flow.state(), before);
  fail = false;
  flow.restore(flow.state());
  EXPECT_EQ(drain(flow).size(), 27u);
}

TEST_P(ParallelMap, AnErrorOfTheSourceArrivesAfterThePointsBeforeIt) {
  const auto fails = [](DataPoint point) -> std::optional<DataPoint> {
    if (point[0].item() == 5) throw NumericError("bad point");
    return point;
  };
  // Out of order, points made before the error is noticed come first; in order, all points before it.
  Flow flow =
      numbered(20) | map(fails) | map([](DataPoint p) { return p; }, {.threads = threads(), .buffer = buffer()});
  for (int i = 0; i < 5; ++i) ASSERT_EQ((*flow.next())[0].item(), i);
  EXPECT_EQ(error_of<NumericError>([&] { flow.next(); }),
            "[map] the function of 'list | map' failed at point 5 of epoch 0: bad point");
}

TEST_P(ParallelMap, CanBeLeftAtAnyMoment) {
  const auto alive = std::make_shared<int>();
  RandomStream random(4);
  for (int round = 0; round < 60; ++round) {
    const bool ordered = random.below(2) == 0;
    const int fails_at = static_cast<int>(random.below(60));
    const auto function = [alive, fails_at](DataPoint point) {
      if (point[0].item() == fails_at) throw Error("no such luck");
      return point;
    };
    Flow flow = source(40) | map(function, {.threads = threads(), .ordered = ordered, .buffer = buffer()}) | batch(2);
    try {
      for (std::uint64_t reads = random.below(30); reads > 0; --reads) flow.next();
      if (random.below(2) == 0) flow.start_epoch(1);
      if (random.below(2) == 0) flow.restore(flow.state());
      if (random.below(2) == 0) flow.next();
    } catch (const Error&) {  // fails_at
    }
  }
  EXPECT_EQ(alive.use_count(), 1);
}

TEST(ParallelMapThreads, WorkAtTheSameTime) {
  Mutex mutex;
  Condition changed;
  int inside = 0;
  // Each waits until three are in the function at once: with fewer threads this would never end.
  const auto function = [&](DataPoint point) {
    const MutexLock lock(mutex);
    ++inside;
    changed.notify_all();
    while (inside < 3) changed.wait(mutex);
    return point;
  };
  EXPECT_EQ(drain(numbered(3) | map(function, {.threads = 3})), upto(3));
}

TEST(ParallelMapThreads, ReadNoFurtherAheadThanTheBuffer) {
  std::atomic<int> made = 0;
  const auto function = [&](DataPoint point) {
    ++made;
    made.notify_all();
    return point;
  };
  Flow flow = numbered(100) | map(function, {.threads = 2, .buffer = 5});
  for (int consumed = 1; consumed <= 20; ++consumed) {
    flow.next();
    EXPECT_LE(made, consumed + 5);
  }
}

TEST(ParallelMapThreads, ASourceWithRandomAccessIsReadByAllOfThem) {
  std::atomic<int> inside = 0;
  const auto slow_source = [&](DataPoint point) {
    ++inside;
    inside.notify_all();
    for (int now = inside; now < 2; now = inside) inside.wait(now);
    return point;
  };
  EXPECT_EQ(drain(numbered(2) | map(slow_source) | map([](DataPoint p) { return p; }, {.threads = 2})), upto(2));
}

// The first points are so quick that many are taken at a time (at most 128, here); then each waits. What was taken with
// it is not started once no more points are wanted.
TEST(ParallelMapThreads, EndWithThePointThatIsBeingMade) {
  std::atomic<int> slow_calls = 0;
  std::atomic<bool> release = false;
  const auto function = [&](DataPoint point) {
    if (point[0].item() < 500) return point;
    ++slow_calls;
    release.wait(false);
    return point;
  };
  {
    Flow flow = Sequential(2000) | map(function, {.threads = 2, .buffer = 512});
    for (int i = 0; i < 372; ++i) ASSERT_EQ((*flow.next())[0].item(), i);
    while (slow_calls < 1) std::this_thread::yield();
    flow->cancel();
    release = true;
    release.notify_all();
  }
  EXPECT_LE(slow_calls, 2);
}

TEST(ParallelMapThreads, CancellingEndsAWait) {
  std::atomic<bool> entered = false, release = false;
  const auto function = [&](DataPoint point) {
    entered = true;
    entered.notify_all();
    release.wait(false);
    return point;
  };
  Flow flow = numbered(4) | map(function, {.threads = 2});
  std::thread canceller([&] {
    entered.wait(false);
    flow->cancel();
    release = true;
    release.notify_all();
  });
  EXPECT_EQ(error_of<Cancelled>([&] { flow.next(); }),
            "[map] expected a point of 'list | map(2 threads)', but the flow was cancelled.");
  canceller.join();
  flow.start_epoch(0);
  EXPECT_EQ(drain(flow), upto(4));
}

TEST(ParallelMapThreads, WithoutRandomAccessOrASizeThatDrops) {
  Flow flow = numbered(8) | map([](DataPoint p) { return p; }, {.threads = 2});
  EXPECT_EQ(flow.known_size(), 8);
  EXPECT_EQ(flow->random_access(), nullptr);
  EXPECT_EQ((numbered(8) | map(change, {.threads = 2})).size(), std::nullopt);
}

TEST(ParallelMapThreads, BadOptionsAreErrors) {
  const auto same_point = [](DataPoint p) { return p; };
  EXPECT_EQ(error_of([&] { map(same_point, {.threads = -1}); }), "[map] expected 0 or more threads, got -1.");
  EXPECT_EQ(error_of([&] { map(same_point, {.buffer = -1}); }), "[map] expected a buffer of 0 or more points, got -1.");
}

}  // namespace
}  // namespace belfry
