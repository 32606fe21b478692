#include "belfry/dataflow/flow.h"

#include <atomic>
#include <thread>
#include <utility>

#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/cache.h"
#include "belfry/dataflow/concat.h"
#include "belfry/dataflow/fan_out.h"
#include "belfry/dataflow/fixed_size.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/prefetch.h"
#include "belfry/dataflow/random_flows.h"
#include "belfry/dataflow/repeat.h"
#include "belfry/dataflow/shard.h"
#include "belfry/dataflow/shuffle.h"
#include "belfry/dataflow/sources/fake.h"
#include "belfry/dataflow/sources/function.h"
#include "belfry/dataflow/sources/generator.h"
#include "belfry/dataflow/zip.h"
#include "tests/dataflow/flow_testing.h"

namespace belfry {
namespace {

DataPoint plus_hundred(DataPoint point) {
  point[0] = Array(static_cast<std::int32_t>(point[0].item()) + 100);
  return point;
}

TEST(Flow, AListIsReadInOrderInEveryPass) {
  Flow flow = numbered(4);
  EXPECT_EQ(drain(flow), upto(4));
  EXPECT_EQ(flow.next(), std::nullopt);
  EXPECT_EQ(pass(flow, 1), upto(4));
  flow.next();
  flow.reset_state();
  EXPECT_EQ(drain(flow), upto(4));
  EXPECT_EQ(flow.known_size(), 4);
}

// What one range-for gives.
std::vector<int> loop(Flow& flow, std::size_t at_most = 1000) {
  std::vector<int> values;
  for (const DataPoint& point : flow) {
    for (std::int64_t i = 0; i < point[0].elements(); ++i) values.push_back(static_cast<int>(point[0].item(i)));
    if (values.size() >= at_most) break;
  }
  return values;
}

TEST(Flow, ALoopAfterAFullPassIsTheNextEpoch) {
  const auto make = [] { return numbered(20) | shuffle(3) | batch(3) | prefetch(2); };
  Flow flow = make(), expected = make();
  for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
    EXPECT_EQ(loop(flow), pass(expected, epoch));
    EXPECT_EQ(flow.epoch(), epoch);
    EXPECT_EQ(flow.next(), std::nullopt) << "next() alone stays at the end";
  }
  flow.start_epoch(1);
  EXPECT_EQ(loop(flow), pass(expected, 1));
  EXPECT_EQ(loop(flow), pass(expected, 2));
}

TEST(Flow, ALoopAfterOneThatWasLeftGoesOnWhereItStopped) {
  Flow flow = numbered(6) | prefetch(2);
  EXPECT_EQ(loop(flow, 2), (std::vector<int>{0, 1}));
  EXPECT_EQ(loop(flow, 3), (std::vector<int>{2, 3, 4}));
  EXPECT_EQ(loop(flow, 1), (std::vector<int>{5}));
  EXPECT_EQ(flow.epoch(), 0u);
  EXPECT_EQ(loop(flow), upto(6)) << "nothing was left of the pass, though no loop had seen its end";
  EXPECT_EQ(flow.epoch(), 1u);
}

TEST(Flow, LoopsFromARestoredPositionAreThoseThatWouldHaveCome) {
  const auto make = [] { return numbered(10) | shuffle(5) | repeat(2) | batch(3) | prefetch(2); };
  for (std::size_t left_after : {1, 6, 18, 1000}) {  // in the middle, at the last batch, after the end
    Flow flow = make();
    loop(flow, left_after);
    const std::string state = to_string(flow.state());
    Flow restored = make();
    restored.restore(flow_state_from_string(state));
    EXPECT_EQ(to_string(restored.state()), state);
    EXPECT_EQ(restored.epoch(), flow.epoch());
    for (int again = 0; again < 3; ++again) {
      EXPECT_EQ(loop(restored), loop(flow)) << left_after;
      EXPECT_EQ(to_string(restored.state()), to_string(flow.state()));
    }
  }
}

TEST(Flow, ALoopOverNothingEnds) {
  Flow flow = numbered(2) | batch(3);
  for (int again = 0; again < 3; ++again) EXPECT_TRUE(loop(flow).empty());
}

TEST(Flow, AUsersOwnFlowComposesByValue) {
  Flow flow = Sequential(5) | map(plus_hundred) | batch(2);
  EXPECT_EQ(drain(flow), (std::vector<int>{100, 101, 102, 103}));
  EXPECT_EQ(flow.describe(), "sequential | map | batch(2)");
}

TEST(Flow, StagesComposeWithoutASource) {
  const FlowStage stage = map(plus_hundred) | batch(2, Remainder::keep);
  EXPECT_EQ(drain(numbered(3) | stage), (std::vector<int>{100, 101, 102}));
  EXPECT_EQ(drain(numbered(1) | stage), std::vector<int>{100});
}

TEST(Flow, ComposingStartsFromTheBeginning) {
  Flow source = numbered(3);
  source.next();
  EXPECT_EQ(drain(source | map(plus_hundred)), (std::vector<int>{100, 101, 102}));
}

TEST(Flow, FeedsOneOtherAtATime) {
  Flow source = numbered(4);
  {
    Flow first = source | batch(2);
    EXPECT_EQ(error_of([&] { source | batch(3); }),
              "[batch] expected a flow that feeds no other, got 'list', which feeds another flow already: the two "
              "would take each other's points. Build a second flow, or share this one with fan_out().");
    EXPECT_EQ(drain(first), upto(4));
    const std::string refusal =
        "[flow] expected a flow that feeds no other, got 'list', which feeds another flow: the two would take each "
        "other's points. Read the other one, or share this one with fan_out().";
    EXPECT_EQ(error_of([&] { source.next(); }), refusal);
    EXPECT_EQ(error_of([&] { source.start_epoch(1); }), refusal);
    EXPECT_EQ(error_of([&] { source.restore(source.state()); }), refusal);
    EXPECT_EQ(error_of([&] {
                for (const DataPoint& point : source) FAIL() << point.size();
              }),
              refusal);
  }
  EXPECT_EQ(drain(source | batch(3)), upto(3));
}

TEST(Flow, AnEmptyHandleIsAnError) {
  Flow none;
  EXPECT_FALSE(none);
  EXPECT_EQ(error_of([&] { none.next(); }), "[flow] expected a flow, got an empty handle. Assign one first.");
  EXPECT_EQ(error_of([&] { none | batch(2); }),
            "[batch] expected a flow to draw on, got an empty handle. Assign one first.");
}

TEST(Flow, TheSizeOfAnEndlessFlowIsUnknownAndAskingForItIsAnError) {
  Flow flow = numbered(3) | repeat() | batch(2);
  EXPECT_EQ(flow.size(), std::nullopt);
  EXPECT_EQ(error_of([&] { flow.known_size(); }),
            "[size] expected a flow of known length, got 'list | repeat | batch(2)', which has no end. Ask before "
            "repeat(), or give the number of steps.");
  EXPECT_EQ(error_of([] { Flow(Sequential(3)).known_size(); }),
            "[size] expected a flow of known length, got 'sequential', which has an unknown length. Count its points, "
            "or give the number of steps.");
}

TEST(Flow, IsEndlessIfItIsKnownToHaveNoEnd) {
  const auto forever = [] { return numbered(3) | repeat(); };
  EXPECT_FALSE(numbered(3)->endless());
  EXPECT_FALSE(Flow(Sequential(3))->endless());
  EXPECT_FALSE((numbered(3) | repeat(5))->endless());
  EXPECT_TRUE(forever()->endless());
  EXPECT_TRUE((forever() | repeat(2))->endless());
  EXPECT_TRUE((forever() | map(plus_hundred, {.threads = 2}) | prefetch(2) | batch(2) | shard({.rank = 0, .size = 2}))
                  ->endless());
  EXPECT_FALSE((forever() | fixed_size(4))->endless());
  EXPECT_TRUE(fan_out(forever())[1]->endless());
  EXPECT_TRUE(concat({numbered(3), forever()})->endless());
  EXPECT_FALSE(zip({numbered(3), forever()})->endless());
  EXPECT_TRUE(zip({forever(), forever()})->endless());
  EXPECT_FALSE(random_choose({numbered(3), forever()})->endless());
  EXPECT_TRUE(random_choose({forever(), forever()})->endless());
}

// The flow's function calls it for every point; it cancels the flow from another thread once there were some.
class CancelsAfter {
 public:
  explicit CancelsAfter(int calls) : calls_(calls) {}
  void watch(Flow flow) { flow_ = std::move(flow); }
  DataPoint pass(DataPoint point) {
    if (++made_ == calls_) {
      thread_ = std::thread([this] {
        flow_->cancel();
        cancelled_ = true;
      });
    }
    if (made_ > calls_)
      while (!cancelled_) std::this_thread::yield();
    return point;
  }
  int made() const { return made_; }
  // Before the flow is destroyed: until then it may still be cancelled.
  void end() {
    thread_.join();
    flow_ = Flow();
  }

 private:
  const int calls_;
  std::atomic<int> made_ = 0;
  std::atomic<bool> cancelled_ = false;
  Flow flow_;
  std::thread thread_;
};

TEST(Cancel, EndsChainsWithoutThreadsBetweenTwoPoints) {
  const auto nothing = [](const DataPoint&) { return false; };
  const std::vector<FlowStage> stages{filter(nothing),        filter(nothing) | repeat(3),     batch(900'000),
                                      shuffle_local(900'000), filter(nothing) | fixed_size(2), batch_by_shape(900'000)};
  for (const FlowStage& stage : stages) {
    for (const bool shuffled : {false, true}) {
      CancelsAfter cancels(10);
      Flow source = fake_data({{.dtype = i32}}, {.size = 1'000'000, .fixed = true});
      if (shuffled) source = source | shuffle();
      Flow flow = source | map([&](DataPoint point) { return cancels.pass(std::move(point)); }) | stage;
      SCOPED_TRACE(flow.describe());
      cancels.watch(flow);
      EXPECT_THROW(flow.next(), Cancelled);
      cancels.end();
      EXPECT_LT(cancels.made(), 20);
    }
  }
}

TEST(Flow, StagesThatCountDoNotGoOnBehindAPointThatWasLost) {
  const auto draw = map([](DataPoint point, RandomStream&) { return point; });
  for (const FlowStage& stage : {shard({.rank = 0, .size = 2}), batch_by_shape(3), fixed_size(5), draw}) {
    bool broken = true;
    Flow flow = numbered(9) | map([&](DataPoint point) {
                  if (point[0].item() == 2 && std::exchange(broken, false)) throw FileError("no such luck");
                  return point;
                }) |
                stage;
    SCOPED_TRACE(flow.describe());
    const auto read_three = [&] {
      for (int i = 0; i < 3; ++i) flow.next();
    };
    EXPECT_THROW(read_three(), FileError);
    EXPECT_TRUE(contains(error_of([&] { flow.next(); }), "expected a pass that goes on"));
    EXPECT_TRUE(contains(error_of([&] { flow.state(); }), "expected a pass that goes on"));
    flow.start_epoch(0);
    EXPECT_TRUE(flow.next().has_value());
  }
}

TEST(Cancel, IsLiftedByTheNextPassOrPosition) {
  std::int64_t i = 0;
  const auto generate = [&](std::uint64_t) {
    i = 0;
    return [&]() -> std::optional<DataPoint> {
      if (i == 4) return std::nullopt;
      return DataPoint{Array(static_cast<int>(i++))};
    };
  };
  const auto function = [](std::int64_t k) -> std::optional<DataPoint> {
    if (k == 4) return std::nullopt;
    return DataPoint{Array(static_cast<int>(k))};
  };
  for (Flow flow : {numbered(4), from_function(function), from_generator(generate), numbered(4) | cache_in_memory()}) {
    SCOPED_TRACE(flow.describe());
    const std::vector<int> points = pass(flow, 0);
    flow.start_epoch(0);
    flow.next();
    const FlowState state = flow.state();
    flow->cancel();
    EXPECT_THROW(flow.next(), Cancelled);
    flow.restore(state);
    EXPECT_EQ(drain(flow), std::vector<int>(points.begin() + 1, points.end()));
    flow->cancel();
    EXPECT_EQ(pass(flow, 0), points);
  }
}

TEST(MapComponent, ChangesOnlyThatComponent) {
  Flow flow = numbered(3) | map_component([](const Array& a) { return a.cast(i32); }, 1);
  flow.next();
  const DataPoint point = *flow.next();
  EXPECT_EQ(point[0].item(), 1);
  EXPECT_EQ(point[1].dtype(), i32);
  EXPECT_EQ(point[1].item(1), -1);
}

TEST(MapComponent, AMissingComponentIsAnError) {
  Flow flow = numbered(3) | map_component([](Array a) { return a; }, 2);
  EXPECT_EQ(error_of([&] { flow.next(); }),
            "[map_component] the function of 'list | map_component' failed at point 0 of epoch 0: [map_component] "
            "expected a point with a component 2, got one of 2 component(s).");
}

TEST(Map, ThatReturnsNothingDropsThePoint) {
  const auto odd = [](DataPoint point) -> std::optional<DataPoint> {
    if (static_cast<int>(point[0].item()) % 2 == 0) return std::nullopt;
    return point;
  };
  Flow flow = numbered(7) | map(odd);
  EXPECT_EQ(flow.size(), std::nullopt);
  EXPECT_EQ(flow->random_access(), nullptr);
  EXPECT_EQ(drain(flow), (std::vector<int>{1, 3, 5}));
}

TEST(Filter, KeepsWhatItIsAskedToKeep) {
  Flow flow = numbered(7) | filter([](const DataPoint& point) { return point[0].item() > 4; });
  EXPECT_EQ(drain(flow), (std::vector<int>{5, 6}));
  EXPECT_EQ(pass(flow, 1), (std::vector<int>{5, 6}));
  EXPECT_EQ(error_of([] { filter(nullptr); }), "[filter] expected a function, got an empty one.");
}

TEST(Map, RandomStagesOfOneChainDrawNumbersOfTheirOwn) {
  const auto draw = [](DataPoint point, RandomStream& random) {
    point.push_back(Array(static_cast<int>(random.below(1'000'000))));
    return point;
  };
  const auto numbers = [](Flow flow, std::size_t component) {
    std::vector<int> out;
    while (const std::optional<DataPoint> point = flow.next())
      out.push_back(static_cast<int>((*point)[component].item()));
    return out;
  };
  const auto two = [&] { return numbered(20) | map(draw) | map(draw); };
  EXPECT_NE(numbers(two(), 2), numbers(two(), 3));
  // A choice between flows, and what is done to the points chosen, have nothing to do with each other.
  Flow chosen =
      random_choose({numbered(1000), from_list(std::vector<DataPoint>(1000, {Array(-1), Array(-1)}))}) | map(draw);
  int of_first = 0, large = 0;
  while (const std::optional<DataPoint> point = chosen.next()) {
    if ((*point)[0].item() < 0) continue;
    ++of_first;
    if ((*point)[2].item() >= 500'000) ++large;
  }
  EXPECT_GT(large, of_first / 4);
  EXPECT_LT(large, 3 * of_first / 4);
  // The parts of a sharded flow.
  EXPECT_NE(numbers(numbered(20) | shard({.rank = 0, .size = 2}) | map(draw), 2),
            numbers(numbered(20) | shard({.rank = 1, .size = 2}) | map(draw), 2));
  // Neither threads nor stages without random numbers change them.
  EXPECT_EQ(numbers(numbered(20) | prefetch(2) | map(draw, {.threads = 2}) | map(draw), 3), numbers(two(), 3));
}

TEST(Map, RandomNumbersAreAPointsOwnByEpochAndIndex) {
  const auto draw = [](DataPoint, RandomStream& random) {
    return DataPoint{Array(static_cast<int>(random.below(1000)))};
  };
  Flow flow = numbered(50) | map(draw, {.seed = 3});
  const std::vector<int> first = pass(flow, 0), second = pass(flow, 1);
  EXPECT_NE(first, second);
  EXPECT_EQ(pass(flow, 0), first);
  EXPECT_NE(pass(numbered(50) | map(draw, {.seed = 4}), 0), first);
  EXPECT_NE(
      pass(numbered(50) | map_component([](Array, RandomStream& r) { return Array(static_cast<int>(r.below(1000))); }),
           0),
      first);
  flow.start_epoch(1);
  ASSERT_NE(flow->random_access(), nullptr);
  EXPECT_EQ(flow->random_access()->at(17)[0].item(), second[17]);
  // A filter before it changes which points there are; the numbers go by what comes in.
  const auto all = [](const DataPoint& point) { return point[0].item() >= 10; };
  EXPECT_EQ(pass(numbered(60) | filter(all) | map(draw, {.seed = 3}), 0), first);
}

TEST(Map, AnEmptyFunctionIsAnError) {
  EXPECT_EQ(error_of([] { map(nullptr); }), "[map] expected a function, got an empty one.");
}

}  // namespace
}  // namespace belfry
