#include "belfry/dataflow/shuffle.h"

#include <algorithm>
#include <set>
#include <utility>

#include "belfry/base/log.h"
#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/repeat.h"
#include "belfry/dataflow/stage_flow.h"
#include "tests/dataflow/flow_testing.h"

namespace belfry {
namespace {

std::vector<int> sorted(std::vector<int> values) {
  std::ranges::sort(values);
  return values;
}

TEST(Shuffle, GivesEveryPointOnceInAnOrderOfItsOwnInEachEpoch) {
  Flow flow = numbered(50) | shuffle(7);
  std::set<std::vector<int>> orders;
  for (std::uint64_t epoch = 0; epoch < 10; ++epoch) {
    const std::vector<int> order = pass(flow, epoch);
    EXPECT_EQ(sorted(order), upto(50));
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 10u);
}

TEST(Shuffle, TheOrderIsAFunctionOfSeedAndEpoch) {
  Flow a = numbered(50) | shuffle(7), b = numbered(50) | shuffle(7), c = numbered(50) | shuffle(8);
  const std::vector<int> third = pass(a, 3);
  b.start_epoch(9);
  b.next();
  EXPECT_EQ(pass(b, 3), third);
  EXPECT_NE(pass(c, 3), third);
  EXPECT_EQ(pass(a, 3), third);
}

TEST(Shuffle, EveryPointReachesEveryPlace) {
  Flow flow = numbered(4) | shuffle(1);
  std::set<std::vector<int>> orders;
  for (std::uint64_t epoch = 0; epoch < 400; ++epoch) orders.insert(pass(flow, epoch));
  EXPECT_EQ(orders.size(), 24u);
}

TEST(Shuffle, WorksOverMapAndOverItself) {
  const FlowStage negate = map_component([](const Array& a) { return Array(-static_cast<std::int32_t>(a.item())); });
  const std::vector<int> order = pass(numbered(20) | negate | shuffle(3), 2);
  std::vector<int> expected = pass(numbered(20) | shuffle(3), 2);
  for (int& value : expected) value = -value;
  EXPECT_EQ(order, expected);
  EXPECT_EQ(sorted(pass(numbered(20) | shuffle(3) | shuffle(4), 1)), upto(20));
}

TEST(Shuffle, ASourceWithoutRandomAccessIsAnErrorThatSaysWhatToUse) {
  EXPECT_EQ(error_of([] { numbered(4) | batch(2) | shuffle(); }),
            "[shuffle] expected a source with random access, got 'list | batch(2)', which can be read only in order. "
            "Shuffle closer to the source, or use shuffle_local().");
}

TEST(ShuffleLocal, MovesPointsWithinTheirRunOnly) {
  Flow flow = Sequential(23) | shuffle_local(5, 1);
  std::set<std::vector<int>> orders;
  for (std::uint64_t epoch = 0; epoch < 6; ++epoch) {
    const std::vector<int> order = pass(flow, epoch);
    EXPECT_EQ(sorted(order), upto(23));
    for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i] / 5, static_cast<int>(i) / 5);
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 6u);
  EXPECT_EQ(pass(Sequential(23) | shuffle_local(5, 1), 4), pass(flow, 4));
  EXPECT_NE(pass(Sequential(23) | shuffle_local(5, 2), 4), pass(flow, 4));
}

TEST(ShuffleLocal, RestoringReadsOnlyTheRunAgain) {
  int reads = 0;
  Flow flow = Sequential(100, &reads) | shuffle_local(10, 1);
  for (int i = 0; i < 73; ++i) flow.next();
  const FlowState state = flow.state();
  const std::vector<int> rest = drain(flow);
  reads = 0;
  flow.restore(state);
  EXPECT_EQ(reads, 0);  // not yet
  flow.next();
  EXPECT_EQ(reads, 10);
  flow.restore(state);
  EXPECT_EQ(drain(flow), rest);
}

TEST(ShuffleLocal, ABufferBelowOneIsAnError) {
  EXPECT_EQ(error_of([] { shuffle_local(0); }), "[shuffle_local] expected a buffer of at least 1 point, got 0.");
}

TEST(Repeat, EachRoundIsTheNextEpochOfTheSource) {
  Flow once = numbered(5) | shuffle(2), twice = numbered(5) | shuffle(2) | repeat(2);
  EXPECT_EQ(twice.known_size(), 10);
  std::vector<int> expected = pass(once, 6);
  const std::vector<int> seventh = pass(once, 7);
  expected.insert(expected.end(), seventh.begin(), seventh.end());
  EXPECT_EQ(pass(twice, 3), expected);
  EXPECT_EQ(twice.next(), std::nullopt);
}

TEST(Repeat, ForeverGoesOnThroughTheEpochs) {
  Flow once = numbered(5) | shuffle(2), endless = numbered(5) | shuffle(2) | repeat();
  for (std::uint64_t epoch = 0; epoch < 4; ++epoch)
    for (int value : pass(once, epoch)) EXPECT_EQ((*endless.next())[0].item(), value);
}

TEST(ShuffleLocal, AFailedRunIsNotGoneOnWithAndCanBeReadAgain) {
  bool broken = true;
  Flow flow = numbered(6) | map([&](DataPoint point) {
                if (point[0].item() == 4 && std::exchange(broken, false)) throw FileError("no such luck");
                return point;
              }) |
              shuffle_local(3);
  for (int i = 0; i < 3; ++i) flow.next();
  EXPECT_THROW(flow.next(), FileError);
  EXPECT_TRUE(contains(error_of([&] { flow.next(); }), "[shuffle_local] expected a pass that goes on"));
  flow.restore(flow.state());
  std::vector<int> rest = drain(flow);
  std::ranges::sort(rest);
  EXPECT_EQ(rest, (std::vector<int>{3, 4, 5}));
}

TEST(Repeat, ManyTimesNothingIsNothingAtOnce) {
  EXPECT_TRUE(drain(numbered(0) | repeat(std::int64_t{1} << 60)).empty());
}

TEST(Repeat, AnEmptyFlowForeverIsAnErrorInsteadOfAHang) {
  EXPECT_EQ(
      error_of([] { numbered(3) | batch(4) | repeat(); }),
      "[repeat] expected a flow with points to repeat forever, got an empty pass of 'list | batch(4)'. Is the batch "
      "larger than the data, or does a filter keep nothing?");
  Flow unknown_size = Sequential(3) | batch(4) | repeat();
  EXPECT_EQ(
      error_of([&] { unknown_size.next(); }),
      "[repeat] expected a flow with points to repeat forever, got an empty pass of 'sequential | batch(4)'. Is the "
      "batch larger than the data, or does a filter keep nothing?");
  EXPECT_TRUE(drain(numbered(3) | batch(4) | repeat(3)).empty());
}

// Says that it has more points than it gives.
class Short final : public StageFlow {
 public:
  explicit Short(Flow source) : StageFlow(std::move(source), "short", "short") {}
  std::optional<DataPoint> next() override { return source().next(); }
  std::optional<std::int64_t> size() const override { return 6; }
};

TEST(Repeat, APassThatEndsBeforeItsSizeIsAWarning) {
  std::vector<std::string> warnings;
  const LogRedirect redirect([&](LogLevel, std::string_view text) { warnings.emplace_back(text); }, LogLevel::warning);
  const auto make = [] { return Flow(std::make_shared<Short>(numbered(4))) | repeat(); };
  Flow flow = make();
  for (int i = 0; i < 4; ++i) flow.next();
  EXPECT_TRUE(warnings.empty());
  const FlowState end = flow.state();
  for (int i = 4; i < 20; ++i) EXPECT_EQ((*flow.next())[0].item(), i % 4);
  const std::vector<std::string> once{
      "[repeat] expected 6 points in a pass of 'list | short', as its size() says, got 4. The next pass begins early."};
  EXPECT_EQ(warnings, once);
  // What came before a restored position is not known; the next pass is counted.
  warnings.clear();
  Flow resumed = make();
  resumed.restore(end);
  for (int i = 0; i < 4; ++i) resumed.next();
  EXPECT_TRUE(warnings.empty());
  resumed.next();
  EXPECT_EQ(warnings, once);
  EXPECT_EQ(drain(numbered(4) | repeat(2)).size(), 8u);
  EXPECT_EQ(warnings, once);
}

TEST(Repeat, ZeroTimesIsAnError) {
  EXPECT_EQ(error_of([] { repeat(0); }), "[repeat] expected 1 or more times, or kForever, got 0.");
}

}  // namespace
}  // namespace belfry
