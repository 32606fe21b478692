#include "belfry/dataflow/joined_flow.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "belfry/base/check.h"
#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/concat.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/prefetch.h"
#include "belfry/dataflow/random_flows.h"
#include "belfry/dataflow/repeat.h"
#include "belfry/dataflow/shuffle.h"
#include "belfry/dataflow/zip.h"
#include "tests/dataflow/restore_checks.h"

namespace belfry {
namespace {

// Points i32 from, from + 1, ...
Flow counted(int from, int count) {
  std::vector<DataPoint> points;
  for (int i = 0; i < count; ++i) points.push_back({Array(from + i)});
  return from_list(points);
}

FlowStage failing_at(int value) {
  return map([=](DataPoint point) {
    BELFRY_CHECK(point[0].item() != value, "[test] no such luck");
    return point;
  });
}

std::vector<int> sorted(std::vector<int> values) {
  std::ranges::sort(values);
  return values;
}

using Join = std::function<Flow(std::vector<Flow>)>;
struct NamedJoin {
  std::string name;
  Join join;
};
const std::vector<NamedJoin> kJoins = {{"concat", [](auto flows) { return concat(flows); }},
                                       {"zip", [](auto flows) { return zip(flows); }},
                                       {"random_choose", [](auto flows) { return random_choose(flows); }},
                                       {"random_mix", [](auto flows) { return random_mix(flows); }}};

class Joined : public testing::TestWithParam<NamedJoin> {};
INSTANTIATE_TEST_SUITE_P(Flows, Joined, testing::ValuesIn(kJoins), [](const auto& info) { return info.param.name; });

TEST_P(Joined, AnEmptyListIsAnError) {
  EXPECT_EQ(error_of([&] { GetParam().join({}); }),
            "[" + GetParam().name + "] expected at least 1 flow to draw on, got an empty list.");
}

TEST_P(Joined, TheSameFlowTwiceIsAnErrorAndLeavesItFree) {
  Flow flow = numbered(3);
  EXPECT_EQ(error_of([&] { GetParam().join({flow, flow}); }),
            "[" + GetParam().name +
                "] expected a flow that feeds no other, got 'list', which feeds another flow already: the two would "
                "take each other's points. Build a second flow, or share this one with fan_out().");
  EXPECT_EQ(drain(flow | batch(3)), upto(3));
  EXPECT_EQ(error_of([&] { GetParam().join({flow, Flow()}); }),
            "[" + GetParam().name + "] expected a flow to draw on, got an empty handle. Assign one first.");
}

TEST_P(Joined, DescribesAllItsFlows) {
  EXPECT_EQ((GetParam().join({numbered(3), numbered(4) | batch(2)}) | batch(2)).describe(),
            GetParam().name + "(list, list | batch(2)) | batch(2)");
}

TEST_P(Joined, RestoresExactlyAtEveryPoint) {
  expect_exact_restore([&] {
    return GetParam().join(
        {numbered(7) | shuffle(2), counted(50, 5) | prefetch(2), counted(90, 6) | shuffle_local(3, 1)});
  });
}

TEST_P(Joined, AStateOverAnotherNumberOfFlowsIsAnError) {
  Flow two = GetParam().join({numbered(3), numbered(3)}),
       three = GetParam().join({numbered(3), numbered(3), numbered(3)});
  EXPECT_EQ(error_of([&] { two.restore(without_identity(three.state())); }),
            "[restore] expected the state of '" + GetParam().name + "' over 2 flow(s), got that of '" +
                GetParam().name + "' over 3. A state fits only the composition that it was taken from.");
}

TEST_P(Joined, CancelsAllItsFlows) {
  Flow flow = GetParam().join({numbered(9) | prefetch(1), numbered(9) | prefetch(1)});
  flow->cancel();
  EXPECT_THROW(drain(flow), Error);
  flow.start_epoch(0);
  EXPECT_FALSE(drain(flow).empty());
}

TEST(Concat, GivesOneFlowAfterTheOtherInEveryEpoch) {
  const auto make = [] { return concat({counted(0, 3) | shuffle(1), counted(10, 0), counted(20, 2)}); };
  Flow flow = make(), first = counted(0, 3) | shuffle(1);
  EXPECT_EQ(flow.known_size(), 5);
  for (std::uint64_t epoch = 0; epoch < 5; ++epoch) {
    std::vector<int> expected = pass(first, epoch);
    expected.insert(expected.end(), {20, 21});
    EXPECT_EQ(pass(flow, epoch), expected);
  }
  expect_random_access_in_order(make);
}

TEST(Concat, CanBeShuffledAsAWhole) {
  Flow flow = concat({counted(0, 20), counted(20, 20)}) | shuffle(3);
  const std::vector<int> order = pass(flow, 0);
  EXPECT_EQ(sorted(order), upto(40));
  EXPECT_TRUE(std::any_of(order.begin(), order.begin() + 20, [](int value) { return value >= 20; }));
  EXPECT_EQ(concat({numbered(3), Sequential(3)})->random_access(), nullptr);
}

TEST(Concat, RowsAreReadOnlyFromFlowsOfTheSameComponents) {
  Flow alike = concat({numbered(3), numbered(4)}), unlike = concat({numbered(3), counted(0, 3)});
  EXPECT_NE(alike->random_access()->row_spec(), nullptr);
  EXPECT_EQ(unlike->random_access()->row_spec(), nullptr);
  EXPECT_EQ(drain(alike | batch(2)), (std::vector<int>{0, 1, 2, 0, 1, 2}));
}

TEST(Concat, AnIndexBeyondTheEndIsAnError) {
  Flow flow = concat({numbered(3), numbered(4)});
  EXPECT_EQ(error_of([&] { flow->random_access()->at(7); }), "[concat] expected an index below 7, got 7.");
}

TEST(RandomMix, DoesNotGoOnBehindAPointThatWasLost) {
  Flow flow = random_mix({numbered(3) | map([](const DataPoint&) -> DataPoint { throw FileError("no such luck"); })});
  EXPECT_THROW(flow.next(), FileError);
  const std::string refusal =
      "[random_mix] expected a pass that goes on, got one that ended with an error. Call start_epoch() or restore() "
      "first.";
  EXPECT_EQ(error_of([&] { flow.next(); }), refusal);
  EXPECT_EQ(error_of([&] { flow.state(); }), refusal);
}

TEST(Concat, TheSizeIsUnknownWithAnEndlessFlow) {
  EXPECT_EQ(error_of([] { concat({numbered(2), numbered(2) | repeat()}).known_size(); }),
            "[size] expected a flow of known length, got 'concat(list, list | repeat)', which has no end. Ask before "
            "repeat(), or give the number of steps.");
}

TEST(Zip, JoinsComponentsAndEndsWithTheShortest) {
  const auto make = [] { return zip({numbered(5), counted(10, 3)}); };
  Flow flow = make();
  EXPECT_EQ(flow.known_size(), 3);
  flow.next();
  const DataPoint second = *flow.next();
  ASSERT_EQ(second.size(), 3u);
  EXPECT_EQ(second[0].item(), 1);
  EXPECT_EQ(second[1].item(1), -1);
  EXPECT_EQ(second[2].item(), 11);
  flow.next();
  for (int again = 0; again < 3; ++again) EXPECT_EQ(flow.next(), std::nullopt);
  expect_random_access_in_order(make);
  expect_exact_restore(make);
}

TEST(Zip, ShuffledPointsStayTogether) {
  Flow flow = zip({counted(0, 20), counted(100, 20)}) | shuffle(1);
  for (const DataPoint& point : flow) EXPECT_EQ(point[0].item() + 100, point[1].item());
}

TEST(Zip, TheSizeIsUnknownIfOneIs) {
  Flow flow = zip({numbered(5), numbered(2) | repeat()});
  EXPECT_EQ(flow.size(), std::nullopt);
  EXPECT_EQ(drain(flow), upto(5));
}

TEST(Zip, AnErrorLeavesItOutOfStepUntilItStartsAgain) {
  Flow flow = zip({counted(0, 5), counted(10, 5) | failing_at(12)});
  flow.next();
  const FlowState good = flow.state();
  flow.next();
  EXPECT_THROW(flow.next(), Error);
  const std::string out_of_step =
      "[zip] expected a pass that goes on, got one that ended with an error. Call start_epoch() or restore() first.";
  EXPECT_EQ(error_of([&] { flow.next(); }), out_of_step);
  EXPECT_EQ(error_of([&] { flow.state(); }), out_of_step);
  flow.restore(good);
  EXPECT_EQ((*flow.next())[1].item(), 11);
}

TEST(RandomChoose, EndsWhenTheChosenFlowDoes) {
  const auto make = [] { return random_choose({counted(0, 30), counted(100, 30)}, {.seed = 4}); };
  Flow flow = make();
  EXPECT_EQ(flow.size(), std::nullopt);
  std::set<std::vector<int>> passes;
  for (std::uint64_t epoch = 0; epoch < 5; ++epoch) {
    const std::vector<int> points = pass(flow, epoch);
    EXPECT_EQ(flow.next(), std::nullopt);
    std::vector<int> first, second;
    for (int value : points) (value < 100 ? first : second).push_back(value);
    EXPECT_TRUE(first.size() == 30 || second.size() == 30);
    EXPECT_EQ(first, upto(static_cast<int>(first.size()))) << "each flow is read in order";
    EXPECT_EQ(pass(make(), epoch), points);
    passes.insert(points);
  }
  EXPECT_EQ(passes.size(), 5u);
}

TEST(RandomChoose, FollowsTheWeights) {
  Flow flow = random_choose({counted(0, 1) | repeat(), counted(1, 1) | repeat(), counted(2, 1) | repeat()},
                            {.weights = {3, 0, 1}});
  std::map<int, int> times;
  for (int i = 0; i < 4000; ++i) ++times[static_cast<int>((*flow.next())[0].item())];
  EXPECT_EQ(times[1], 0);
  EXPECT_NEAR(times[0], 3000, 150);
}

TEST(RandomChoose, BadWeightsAreErrors) {
  const auto with = [](std::vector<double> weights) {
    return error_of([&] { random_choose({numbered(2), numbered(3)}, {.weights = weights}); });
  };
  EXPECT_EQ(with({1}), "[random_choose] expected one weight for each of 2 flows, got 1.");
  const std::string rule = "[random_choose] expected weights of 0 or more with a finite sum above 0, got ";
  EXPECT_EQ(with({2, -1}), rule + "{2, -1}.");
  EXPECT_EQ(with({0, 0}), rule + "{0, 0}.");
  EXPECT_EQ(with({1, std::numeric_limits<double>::quiet_NaN()}), rule + "{1, nan}.");
  EXPECT_EQ(with({1, std::numeric_limits<double>::infinity()}), rule + "{1, inf}.");
}

TEST(RandomMix, GivesAllPointsEachFlowInItsOrder) {
  const auto make = [] { return random_mix({counted(0, 10), counted(10, 0), counted(10, 30)}, 2); };
  Flow flow = make();
  EXPECT_EQ(flow.known_size(), 40);
  std::set<std::vector<int>> passes;
  for (std::uint64_t epoch = 0; epoch < 5; ++epoch) {
    const std::vector<int> points = pass(flow, epoch);
    EXPECT_EQ(sorted(points), upto(40));
    std::vector<int> first, second;
    for (int value : points) (value < 10 ? first : second).push_back(value);
    EXPECT_TRUE(std::ranges::is_sorted(first) && std::ranges::is_sorted(second));
    EXPECT_EQ(pass(make(), epoch), points);
    passes.insert(points);
  }
  EXPECT_EQ(passes.size(), 5u);
}

TEST(RandomMix, EveryInterleavingIsAsLikely) {
  Flow flow = random_mix({counted(0, 2), counted(2, 2)}, 5);
  std::map<std::vector<int>, int> seen;
  for (std::uint64_t epoch = 0; epoch < 1200; ++epoch) ++seen[pass(flow, epoch)];
  EXPECT_EQ(seen.size(), 6u);
  for (const auto& [order, times] : seen) EXPECT_NEAR(times, 200, 60);
}

TEST(RandomMix, FlowsOfUnknownLengthAreAnError) {
  EXPECT_EQ(error_of([] { random_mix({numbered(2), numbered(2) | repeat()}); }),
            "[random_mix] expected flows of known length, got 'list | repeat', which has no end or an unknown length. "
            "Use random_choose().");
}

}  // namespace
}  // namespace belfry
