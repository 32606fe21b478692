// A saved position brings back exactly the points that would have come next, through any composition.
#include <functional>

#include "belfry/base/random.h"
#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/prefetch.h"
#include "belfry/dataflow/repeat.h"
#include "belfry/dataflow/shuffle.h"
#include "tests/dataflow/restore_testing.h"

namespace belfry {
namespace {

// Adds a number of the point's own; drops a few points.
std::optional<DataPoint> augment(DataPoint point, RandomStream& random) {
  if (random.below(5) == 0) return std::nullopt;
  point.push_back(Array(static_cast<float>(random.uniform())));
  return point;
}

FlowStage random_stage(RandomStream& random, bool can_shuffle, int threads) {
  const auto small = static_cast<int>(1 + random.below(4));
  switch (random.below(can_shuffle ? 7 : 6)) {
    case 0: return batch(small);
    case 1:
      return map([](DataPoint point) {
        point.push_back(Array(static_cast<float>(point[0].item())));
        return point;
      });
    case 2: return repeat(small);
    case 3: return prefetch(small);
    case 4: return shuffle_local(small, random.bits());
    case 5: return map(augment, {.seed = random.bits(), .threads = threads, .buffer = 2 * small});
    default: return shuffle(random.bits());
  }
}

// The same composition every time it is called with the same seed.
Flow random_flow(std::uint64_t seed, int threads = 2) {
  RandomStream random(seed);
  const auto points = static_cast<int>(random.below(14));
  Flow flow = random.below(3) == 0 ? Flow(Sequential(points)) : numbered(points);
  for (std::uint64_t stages = 1 + random.below(4); stages > 0; --stages)
    flow = flow | random_stage(random, flow->random_access() != nullptr, threads);
  return random.below(2) == 0 ? flow | batch(2, Remainder::keep) : flow;
}

TEST(Restore, ContinuesExactlyAtEveryPointOfRandomCompositions) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    Flow flow = random_flow(seed);
    SCOPED_TRACE(flow.describe());
    const std::uint64_t epoch = seed % 3;
    flow.start_epoch(epoch);
    std::vector<std::string> states{to_string(flow.state())};
    std::vector<DataPoint> points;
    while (std::optional<DataPoint> point = flow.next()) {
      points.push_back(std::move(*point));
      states.push_back(to_string(flow.state()));
    }
    flow.start_epoch(epoch + 1);
    const std::vector<DataPoint> next_pass = points_left(flow);

    // One flow that goes from any place to any other, and one that is new.
    const std::size_t stride = 1 + states.size() / 12;
    for (std::size_t at = 0; at < states.size(); at += stride) {
      Flow fresh = random_flow(seed);
      for (Flow* restored : {&flow, &fresh}) {
        restored->restore(flow_state_from_string(states[at]));
        EXPECT_EQ(to_string(restored->state()), states[at]);
        EXPECT_EQ(restored->epoch(), epoch);
        const std::vector<DataPoint> rest = points_left(*restored);
        ASSERT_EQ(rest.size(), points.size() - at);
        for (std::size_t i = 0; i < rest.size(); ++i) ASSERT_TRUE(same(rest[i], points[at + i])) << at << " + " << i;
      }
      fresh.start_epoch(epoch + 1);
      const std::vector<DataPoint> again = points_left(fresh);
      ASSERT_EQ(again.size(), next_pass.size());
      for (std::size_t i = 0; i < again.size(); ++i) ASSERT_TRUE(same(again[i], next_pass[i]));
    }
  }
}

TEST(Restore, TheNumberOfThreadsChangesNothing) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    Flow flow = random_flow(seed, 1);
    SCOPED_TRACE(flow.describe());
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
      flow.start_epoch(epoch);
      const std::vector<DataPoint> points = points_left(flow);
      for (const int threads : {2, 4}) {
        Flow other = random_flow(seed, threads);
        other.start_epoch(epoch);
        const std::vector<DataPoint> others = points_left(other);
        ASSERT_EQ(others.size(), points.size());
        for (std::size_t i = 0; i < points.size(); ++i) ASSERT_TRUE(same(others[i], points[i])) << i;
      }
    }
  }
}

TEST(Restore, ASizeThatIsKnownIsTheNumberOfPoints) {
  int known = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    Flow flow = random_flow(seed);
    SCOPED_TRACE(flow.describe());
    if (!flow.size()) continue;
    ++known;
    EXPECT_EQ(points_left(flow).size(), static_cast<std::size_t>(*flow.size()));
  }
  EXPECT_GT(known, 50);
}

TEST(Restore, AnEndlessFlowContinuesAcrossEpochs) {
  const auto make = [] { return numbered(7) | shuffle(4) | batch(2) | repeat() | prefetch(3); };
  Flow flow = make();
  for (int i = 0; i < 20; ++i) flow.next();
  const std::string state = to_string(flow.state());
  Flow resumed = make();
  resumed.restore(flow_state_from_string(state));
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(same(*flow.next(), *resumed.next()));
}

TEST(Restore, ReadsNothingAgainWhereTheSourceHasRandomAccess) {
  int reads = 0;
  Flow flow = numbered(1000) | map([&](DataPoint point) {
                ++reads;
                return point;
              }) |
              shuffle(1) | batch(10);
  for (int i = 0; i < 90; ++i) flow.next();
  const FlowState state = flow.state();
  reads = 0;
  flow.restore(state);
  EXPECT_EQ(reads, 0);
  flow.next();
  EXPECT_EQ(reads, 10);
}

TEST(Restore, AStateOfAnotherCompositionIsAnError) {
  Flow flow = numbered(6) | shuffle(1) | batch(2), other = numbered(6) | shuffle(1) | repeat();
  EXPECT_EQ(
      error_of([&] { flow.restore(other.state()); }),
      "[restore] expected the state of 'batch' over 1 flow(s), got that of 'repeat' over 1. A state fits only the "
      "composition that it was taken from.");
  Flow seed = numbered(6) | shuffle(2) | batch(2);
  EXPECT_EQ(
      error_of([&] { flow.restore(seed.state()); }),
      "[restore] expected a state of 'shuffle' with seed = 1, got 2. The flow must be built as it was when the state "
      "was taken.");
  Flow larger = numbered(7) | shuffle(1) | batch(2);
  EXPECT_EQ(
      error_of([&] { flow.restore(larger.state()); }),
      "[restore] expected a state of 'list' with count = 6, got 7. The flow must be built as it was when the state was "
      "taken.");
  flow.start_epoch(0);
  EXPECT_EQ(drain(flow).size(), 6u);
}

TEST(Restore, ADamagedPositionIsAnError) {
  Flow flow = numbered(3);
  EXPECT_EQ(error_of([&] { flow.restore({"list", {{"count", 3}, {"epoch", 0}, {"position", 4}}, {}}); }),
            "[restore] expected a position of at most 3 in 'list', got 4. The state is damaged.");
  EXPECT_EQ(error_of([&] { flow.restore({"list", {{"count", 3}, {"epoch", 0}}, {}}); }),
            "[restore] expected a state of 'list' with 'position', got {\"flow\":\"list\",\"count\":3,\"epoch\":0}.");
}

TEST(FlowState, IsOneLineOfJson) {
  Flow flow = numbered(5) | batch(2);
  flow.start_epoch(3);
  flow.next();
  const std::string text = to_string(flow.state());
  EXPECT_EQ(text, R"({"flow":"batch","from":[{"flow":"list","count":5,"epoch":3,"position":2}]})");
  EXPECT_EQ(flow_state_from_string(text), flow.state());
  const FlowState large{"x", {{"n", ~std::uint64_t{0}}}, {}};
  EXPECT_EQ(flow_state_from_string(to_string(large)), large);
}

TEST(FlowState, RefusesWhatItDidNotWrite) {
  EXPECT_EQ(error_of([] { flow_state_from_string("{\"flow\":"); }),
            "[flow state] expected JSON text, got '{\"flow\":'.");
  EXPECT_EQ(error_of([] { flow_state_from_string("[1]"); }),
            "[flow state] expected an object that names its \"flow\", got array.");
  EXPECT_EQ(error_of([] { flow_state_from_string(R"({"flow":"list","position":-1})"); }),
            "[flow state] expected a whole number for 'position' of 'list', got -1.");
  EXPECT_EQ(error_of([] { flow_state_from_string(R"({"flow":"batch","from":3})"); }),
            "[flow state] expected a list in \"from\" of 'batch', got 3.");
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += R"({"flow":"x","from":[)";
  for (int i = 0; i < 1000; ++i) deep += "]}";
  EXPECT_THROW(flow_state_from_string(deep), Error);
  const std::string lists = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_EQ(error_of([&] { flow_state_from_string("{\"flow\":\"x\",\"n\":" + lists + "}"); }),
            "[flow state] expected a whole number for 'n' of 'x', got array.");
}

}  // namespace
}  // namespace belfry
