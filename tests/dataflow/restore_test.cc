// A saved position brings back exactly the points that would have come next, through any composition.
#include <algorithm>
#include <cmath>

#include "belfry/base/random.h"
#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/cache.h"
#include "belfry/dataflow/concat.h"
#include "belfry/dataflow/fan_out.h"
#include "belfry/dataflow/fixed_size.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/prefetch.h"
#include "belfry/dataflow/random_flows.h"
#include "belfry/dataflow/repeat.h"
#include "belfry/dataflow/repeat_each.h"
#include "belfry/dataflow/section.h"
#include "belfry/dataflow/select.h"
#include "belfry/dataflow/shard.h"
#include "belfry/dataflow/shuffle.h"
#include "belfry/dataflow/zip.h"
#include "tests/dataflow/restore_checks.h"

namespace belfry {
namespace {

// Adds a number of the point's own; drops a few points.
std::optional<DataPoint> augment(DataPoint point, RandomStream& random) {
  if (random.below(5) == 0) return std::nullopt;
  point.push_back(Array(static_cast<float>(random.uniform())));
  return point;
}

// Whatever the point has, as {i32 scalar, f32 [2]}: points of joined flows differ in kind, and batches want them alike.
DataPoint digest(const DataPoint& point) {
  double sum = static_cast<double>(point.size());
  for (const Array& component : point)
    for (std::int64_t i = 0; i < component.elements(); ++i) sum = std::fmod(2 * sum + component.item(i) + 1001, 1000);
  return {Array(static_cast<std::int32_t>(sum)), Array::of<float>({2}, {static_cast<float>(sum), 1})};
}

// With a component whose shape differs from point to point.
DataPoint ragged_digest(const DataPoint& point) {
  DataPoint out = digest(point);
  const auto rows = static_cast<std::int64_t>(out[0].item()) % 3;
  out.push_back(Array::full(i32, {rows, 2}, static_cast<double>(rows)));
  return out;
}

FlowStage random_batch(RandomStream& random, const Flow& flow, int points) {
  const Remainder remainder = random.below(2) == 0 ? Remainder::keep : Remainder::drop;
  RandomAccess* access = flow->random_access();
  switch (random.below(5)) {
    case 0: return map(ragged_digest) | batch(points, {.remainder = remainder, .ragged = Ragged::pad});
    case 1: return map(ragged_digest) | batch(points, {.remainder = remainder, .ragged = Ragged::concat});
    case 2: return map(ragged_digest) | batch_by_shape(points, remainder);
    default:
      if (access != nullptr && access->row_spec() != nullptr) return batch(points, remainder);
      return map(digest) | batch(points, remainder);
  }
}

// Of a flow that may be empty.
FlowStage random_fixed_size(RandomStream& random) {
  const auto points = static_cast<std::int64_t>(1 + random.below(20));
  const bool keep_state = random.below(3) > 0;
  return FlowStage([=](Flow flow) {
    return concat({std::move(flow), numbered(1)}) | fixed_size(points, {.keep_state = keep_state});
  });
}

FlowStage random_stage(RandomStream& random, const Flow& flow, int threads) {
  const auto small = static_cast<int>(1 + random.below(4));
  switch (random.below(flow->random_access() != nullptr ? 17 : 16)) {
    case 0:
    case 1: return random_batch(random, flow, small);
    case 2:
      return map([](DataPoint point) {
        point.push_back(digest(point)[0]);
        return point;
      });
    case 3: return repeat(small);
    case 4: return prefetch(small);
    case 5: return shuffle_local(small, random.bits());
    case 6: return map(augment, {.seed = random.bits(), .threads = threads, .buffer = 2 * small});
    case 7: return repeat_each(small);
    case 8: return select(random.below(2) == 0 ? std::vector<std::size_t>{0} : std::vector<std::size_t>{0, 0});
    case 9: return shard({.rank = static_cast<int>(random.below(2)), .size = 2});
    case 10: return random_fixed_size(random);
    case 11: return cache_in_memory();
    case 12: return filter([](const DataPoint& point) { return digest(point)[0].item() < 700; }, {.threads = threads});
    case 13: return FlowStage([=](Flow f) { return fan_out(std::move(f), {.consumers = 1, .buffer = small})[0]; });
    case 14: return take(2 * small);
    case 15: return skip(small - 1);
    default: return shuffle(random.bits());
  }
}

Flow random_source(RandomStream& random) {
  const auto points = static_cast<int>(random.below(14));
  return random.below(3) == 0 ? Flow(Sequential(points)) : numbered(points);
}

Flow random_stages(RandomStream& random, Flow flow, int threads, std::uint64_t stages) {
  for (; stages > 0; --stages) flow = flow | random_stage(random, flow, threads);
  return flow;
}

// Several flows, each with a few stages of its own, as one.
Flow random_joined(RandomStream& random, int threads) {
  std::vector<Flow> flows;
  for (std::uint64_t left = 1 + random.below(3); left > 0; --left)
    flows.push_back(random_stages(random, random_source(random), threads, random.below(3)));
  const bool all_known = std::ranges::all_of(flows, [](const Flow& flow) { return flow.size().has_value(); });
  switch (random.below(4)) {
    case 0: return concat(flows);
    case 1: return zip(flows);
    case 2: return all_known ? random_mix(flows, random.bits()) : concat(flows);
    default: return random_choose(flows, {.seed = random.bits()});
  }
}

// The same composition every time it is called with the same seed.
Flow random_flow(std::uint64_t seed, int threads = 2) {
  RandomStream random(seed);
  Flow flow = random.below(3) == 0 ? random_joined(random, threads) : random_source(random);
  flow = random_stages(random, flow, threads, 1 + random.below(4));
  return random.below(2) == 0 ? flow | map(digest) | batch(2, Remainder::keep) : flow;
}

TEST(Restore, ContinuesExactlyAtEveryPointOfRandomCompositions) {
  for (std::uint64_t seed = 0; seed < 150; ++seed)
    ASSERT_NO_FATAL_FAILURE(expect_exact_restore([=] { return random_flow(seed); }, seed % 3, 12)) << seed;
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
        ASSERT_NO_FATAL_FAILURE(expect_same(others, points));
      }
    }
  }
}

TEST(Restore, APositionFitsAnyNumberOfThreads) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Flow flow = random_flow(seed, 0);
    SCOPED_TRACE(flow.describe());
    for (std::uint64_t i = 0; i < seed % 7; ++i) flow.next();
    const FlowState state = flow.state();
    const std::vector<DataPoint> points = points_left(flow);
    Flow two = random_flow(seed, 2);
    two.restore(state);
    const FlowState again = two.state();
    ASSERT_NO_FATAL_FAILURE(expect_same(points_left(two), points));
    flow.restore(again);
    ASSERT_NO_FATAL_FAILURE(expect_same(points_left(flow), points));
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

// Of those flows and stages alone that keep random access.
Flow random_indexed_flow(std::uint64_t seed) {
  RandomStream random(seed);
  const auto small = [&] { return static_cast<int>(1 + random.below(4)); };
  std::vector<Flow> flows;
  for (int left = small(); left > 0; --left) flows.push_back(numbered(static_cast<int>(random.below(8))));
  Flow flow = random.below(2) == 0 ? concat(flows) : zip(flows);
  for (int left = small(); left > 0; --left) switch (random.below(5)) {
      case 0: flow = flow | shuffle(random.bits()); break;
      case 1: flow = flow | repeat_each(small()); break;
      case 2: flow = flow | select({0, 1}); break;
      case 3: flow = flow | shard({.rank = static_cast<int>(random.below(2)), .size = 2}); break;
      default:
        flow = flow | map([](DataPoint point, RandomStream& numbers) {
                 point[0] = Array(static_cast<std::int32_t>(numbers.below(1000)));
                 return point;
               });
    }
  return flow;
}

TEST(Restore, PointsByTheirIndexAreThoseThatComeInOrder) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const auto make = [=] { return random_indexed_flow(seed); };
    ASSERT_NO_FATAL_FAILURE(expect_random_access_in_order(make)) << seed;
    ASSERT_NO_FATAL_FAILURE(expect_exact_restore(make, 0, 4)) << seed;
  }
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

TEST(Restore, AnErrorWhileReadingAgainLosesNoPosition) {
  for (const FlowStage& stage : {batch_by_shape(2, Remainder::keep), repeat_each(3), shuffle_local(4, 1)}) {
    bool fails = false;
    Flow flow = Flow(Sequential(9)) | map([&](DataPoint point) {
                  if (fails) throw Error("no such luck");
                  point[0] = Array::full(i32, {point[0].item() < 1 ? 2 : 1}, point[0].item());
                  return point;
                }) |
                stage;
    SCOPED_TRACE(flow.describe());
    flow.next();
    const FlowState state = flow.state();
    const std::vector<int> rest = drain(flow);
    flow.restore(state);
    fails = true;
    EXPECT_TRUE(contains(error_of([&] { flow.next(); }), "no such luck"));
    fails = false;
    EXPECT_TRUE(contains(error_of([&] { flow.next(); }), "Call start_epoch() or restore() first."));
    EXPECT_EQ(flow.state(), state);
    flow.restore(state);
    EXPECT_EQ(drain(flow), rest);
  }
}

TEST(Restore, AStateOfAnotherCompositionIsAnError) {
  Flow flow = numbered(6) | shuffle(1) | batch(2), other = numbered(6) | shuffle(1) | repeat();
  EXPECT_EQ(
      error_of([&] { flow.restore(without_identity(other.state())); }),
      "[restore] expected the state of 'batch' over 1 flow(s), got that of 'repeat' over 1. A state fits only the "
      "composition that it was taken from.");
  Flow seed = numbered(6) | shuffle(2) | batch(2);
  EXPECT_EQ(
      error_of([&] { flow.restore(without_identity(seed.state())); }),
      "[restore] expected a state of 'shuffle' with seed = 1, got 2. The flow must be built as it was when the state "
      "was taken.");
  Flow larger = numbered(7) | shuffle(1) | batch(2);
  EXPECT_EQ(
      error_of([&] { flow.restore(without_identity(larger.state())); }),
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

TEST(Restore, AStateOfABatchThatKeepsItsRemainderDoesNotFitOneThatDropsIt) {
  Flow keep = numbered(3) | batch(2, Remainder::keep), drop = numbered(3) | batch(2);
  EXPECT_TRUE(contains(error_of([&] { drop.restore(without_identity(keep.state())); }),
                       "expected a state of 'batch' with keep = 0"));
}

TEST(Restore, AStateOfAnotherSizeOfBatchOrNumberOfRoundsIsAnError) {
  Flow two = numbered(8) | batch(2), four = numbered(8) | batch(4);
  EXPECT_EQ(error_of([&] { four.restore(without_identity(two.state())); }),
            "[restore] expected a state of 'batch' with points = 4, got 2. The flow must be built as it was when the "
            "state was taken.");
  Flow twice = numbered(8) | repeat(2), thrice = numbered(8) | repeat(3);
  EXPECT_EQ(error_of([&] { thrice.restore(without_identity(twice.state())); }),
            "[restore] expected a state of 'repeat' with times = 3, got 2. The flow must be built as it was when the "
            "state was taken.");
}

TEST(FlowState, IsOneLineOfJson) {
  Flow flow = numbered(5) | batch(2);
  flow.start_epoch(3);
  flow.next();
  const std::string text = to_string(flow.state());
  EXPECT_EQ(text, R"({"flow":"batch","points":2,"keep":0,"from":[{"flow":"list","count":5,"epoch":3,"position":2}],)"
                  R"-("identity":"list(count=5) | batch(points=2, keep=no)"})-");
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
