// Stages that change which points come, or which components they have: select, shard, repeat_each, fixed_size.
#include <set>

#include "belfry/base/check.h"
#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/fixed_size.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/prefetch.h"
#include "belfry/dataflow/repeat.h"
#include "belfry/dataflow/repeat_each.h"
#include "belfry/dataflow/select.h"
#include "belfry/dataflow/shard.h"
#include "belfry/dataflow/shuffle.h"
#include "tests/dataflow/restore_checks.h"

namespace belfry {
namespace {

FlowStage counting(int& reads) {
  return map([&reads](DataPoint point) {
    ++reads;
    return point;
  });
}

TEST(Select, ChoosesAndReordersComponents) {
  Flow swapped = numbered(3) | select({1, 0}), second = numbered(3) | select({1}), twice = numbered(3) | select({0, 0});
  swapped.next();
  const DataPoint point = *swapped.next();
  ASSERT_EQ(point.size(), 2u);
  EXPECT_EQ(point[0].item(1), -1);
  EXPECT_EQ(point[1].item(), 1);
  EXPECT_EQ((*second.next()).size(), 1u);
  EXPECT_EQ((*twice.next()).size(), 2u);
  EXPECT_EQ(swapped.describe(), "list | select(1, 0)");
  EXPECT_EQ(swapped.known_size(), 3);
}

TEST(Select, RowsEqualPoints) {
  for (const std::vector<std::size_t>& components : {std::vector<std::size_t>{1, 0}, {1}, {0}}) {
    const auto make = [&] { return numbered(7) | select(components); };
    Flow rows = make() | shuffle(2) | batch(3), points = make() | shuffle(2);
    EXPECT_NE(make()->random_access()->row_spec(), nullptr);
    for (const DataPoint& batched : rows)
      for (int row = 0; row < 3; ++row) {
        const DataPoint point = *points.next();
        ASSERT_EQ(batched.size(), components.size());
        for (std::size_t k = 0; k < point.size(); ++k)
          for (std::int64_t i = 0; i < point[k].elements(); ++i)
            EXPECT_EQ(batched[k].item(row * point[k].elements() + i), point[k].item(i));
      }
    expect_random_access_in_order(make);
    expect_exact_restore(make);
  }
  EXPECT_EQ((numbered(3) | select({0, 0}))->random_access()->row_spec(), nullptr);
  EXPECT_EQ((Sequential(3) | select({0}))->random_access(), nullptr);
}

TEST(Select, AnIndexOutOfRangeIsAnError) {
  EXPECT_EQ(error_of([] { numbered(3) | select({0, 2}); }),
            "[select] expected indices below 2, the number of components of 'list', got 2.");
  Flow unknown = Sequential(3) | select({1});
  EXPECT_EQ(error_of([&] { unknown.next(); }),
            "[select] expected indices below 1, the number of components of 'sequential', got 1.");
  EXPECT_EQ(error_of([] { select({}); }), "[select] expected at least 1 component to keep, got none.");
}

TEST(Shard, ThePartsTogetherAreTheWholeInEveryEpoch) {
  for (const int points : {0, 1, 5, 7, 9}) {
    for (const bool sequential : {false, true}) {
      const auto part = [&](std::int64_t rank) {
        return (sequential ? Flow(Sequential(points)) : numbered(points)) | shard({.rank = rank, .size = 3});
      };
      for (int rank = 0; rank < 3; ++rank) {
        std::vector<int> expected;
        for (int i = rank; i < points; i += 3) expected.push_back(i);
        Flow flow = part(rank);
        EXPECT_EQ(pass(flow, 1), expected);
        EXPECT_EQ(flow.next(), std::nullopt);
        expect_exact_restore([&] { return part(rank); });
        if (sequential) continue;
        EXPECT_EQ(flow.known_size(), static_cast<std::int64_t>(expected.size()));
        expect_random_access_in_order([&] { return part(rank); });
      }
    }
  }
}

TEST(Shard, DoesNotReadWhatIsOthers) {
  int reads = 0;
  Flow flow = numbered(100) | counting(reads) | shard({.rank = 3, .size = 4});
  flow.next();
  EXPECT_EQ(reads, 1);
  drain(flow);
  EXPECT_EQ(reads, 25);
}

TEST(Shard, BehindAShuffleDealsThePointsAnewInEachEpoch) {
  std::set<std::set<int>> parts;
  for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
    std::set<int> all, first;
    for (int rank = 0; rank < 2; ++rank)
      for (const int value : pass(numbered(20) | shuffle(1) | shard({.rank = rank, .size = 2}), epoch)) {
        all.insert(value);
        if (rank == 0) first.insert(value);
      }
    EXPECT_EQ(all.size(), 20u);
    parts.insert(first);
  }
  EXPECT_EQ(parts.size(), 4u);
}

TEST(Shard, BatchesStraightFromTheSourcesRows) {
  Flow flow = numbered(8) | shard({.rank = 1, .size = 2});
  EXPECT_NE(flow->random_access()->row_spec(), nullptr);
  EXPECT_EQ(drain(flow | batch(2)), (std::vector<int>{1, 3, 5, 7}));
}

TEST(Shard, ABadPartIsAnError) {
  EXPECT_EQ(error_of([] { shard({.rank = 2, .size = 2}); }),
            "[shard] expected a rank from 0 to size - 1, got rank 2 of size 2.");
  EXPECT_EQ(error_of([] { shard({.rank = -1, .size = 2}); }),
            "[shard] expected a rank from 0 to size - 1, got rank -1 of size 2.");
  EXPECT_EQ(error_of([] { shard({.rank = 0, .size = 0}); }),
            "[shard] expected a rank from 0 to size - 1, got rank 0 of size 0.");
  Flow first = numbered(9) | shard({.rank = 0, .size = 2}), second = numbered(9) | shard({.rank = 1, .size = 2});
  EXPECT_EQ(error_of([&] { second.restore(without_identity(first.state())); }),
            "[restore] expected a state of 'shard' with rank = 1, got 0. The flow must be built as it was when the "
            "state was taken.");
}

TEST(RepeatEach, GivesEachPointSoManyTimes) {
  const auto in_order = [] { return numbered(3) | shuffle(1) | repeat_each(2); };
  Flow flow = in_order(), once = numbered(3) | shuffle(1);
  EXPECT_EQ(flow.known_size(), 6);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<int> expected;
    for (const int value : pass(once, epoch)) expected.insert(expected.end(), 2, value);
    EXPECT_EQ(pass(flow, epoch), expected);
    EXPECT_EQ(flow.next(), std::nullopt);
  }
  EXPECT_EQ(drain(Sequential(3) | repeat_each(2)), (std::vector<int>{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(drain(Sequential(3) | repeat_each(1)), upto(3));
  EXPECT_EQ(drain(numbered(3) | repeat_each(2) | batch(3)), (std::vector<int>{0, 0, 1, 1, 2, 2}));
  for (const int times : {1, 2, 3}) {
    expect_random_access_in_order([=] { return numbered(4) | repeat_each(times); });
    expect_exact_restore([=] { return numbered(4) | repeat_each(times); });
    expect_exact_restore([=] { return Sequential(4) | repeat_each(times); });
  }
}

TEST(RepeatEach, ReadsEachPointOnce) {
  int reads = 0;
  Flow flow = numbered(5) | counting(reads) | repeat_each(4);
  EXPECT_EQ(drain(flow).size(), 20u);
  EXPECT_EQ(reads, 5);
}

TEST(RepeatEach, IndicesAndPointsCanBeTakenInTurns) {
  Flow flow = numbered(4) | repeat_each(3);
  EXPECT_EQ((*flow.next())[0].item(), 0);
  EXPECT_EQ(flow->random_access()->next_index(), 1);
  EXPECT_EQ((*flow.next())[0].item(), 0);
  EXPECT_EQ(flow->random_access()->next_index(), 3);
  EXPECT_EQ((*flow.next())[0].item(), 1);
}

TEST(RepeatEach, BadNumbersAreErrors) {
  EXPECT_EQ(error_of([] { repeat_each(0); }), "[repeat_each] expected 1 or more times, got 0.");
  EXPECT_EQ((numbered(2) | repeat() | repeat_each(2)).size(), std::nullopt);
  Flow flow = numbered(2) | repeat_each(2);
  FlowState state = flow.state();
  state.numbers[1].second = 2;
  EXPECT_EQ(error_of([&] { flow.restore(state); }),
            "[restore] expected a point of 'list | repeat_each(2)' with fewer than 2 copies given so far, got 2. The "
            "state is damaged.");
}

// What the source gives, epoch after epoch.
std::vector<int> endless(Flow source, std::size_t points) {
  std::vector<int> values;
  for (std::uint64_t epoch = 0; values.size() < points; ++epoch)
    for (const int value : pass(source, epoch)) values.push_back(value);
  values.resize(points);
  return values;
}

const std::vector<std::function<Flow()>> kSourcesOfFixedSize = {
    [] { return numbered(5) | shuffle(1); },                            // of known size, with random access
    [] { return numbered(5) | shuffle(1) | prefetch(2); },              // of known size, in order
    [] { return Sequential(5) | shuffle_local(3, 1); },                 // of unknown size
    [] { return numbered(5) | shuffle(1) | repeat() | prefetch(2); }};  // without an end

TEST(FixedSize, PassesContinueThroughTheEpochsOfTheSource) {
  for (const auto& source : kSourcesOfFixedSize) {
    for (const int points : {1, 3, 5, 10, 12}) {
      const auto make = [&] { return source() | fixed_size(points); };
      Flow flow = make(), anywhere = make();
      SCOPED_TRACE(flow.describe());
      EXPECT_EQ(flow.known_size(), points);
      const bool has_end = source().describe().find("repeat") == std::string::npos;
      const std::vector<int> all =
          endless(has_end ? source() : numbered(5) | shuffle(1), static_cast<std::size_t>(points) * 6);
      const auto expected = [&](int k) {
        return std::vector<int>(all.begin() + k * points, all.begin() + (k + 1) * points);
      };
      for (int k = 0; k < 6; ++k) {
        EXPECT_EQ(pass(flow, static_cast<std::uint64_t>(k)), expected(k)) << k;
        EXPECT_EQ(flow.next(), std::nullopt);
      }
      for (const int k : {4, 2, 2, 3, 5, 0}) {
        EXPECT_EQ(pass(anywhere, static_cast<std::uint64_t>(k)), expected(k)) << k;
        anywhere.start_epoch(1);
        anywhere.next();
      }
      expect_exact_restore(make);
    }
  }
}

TEST(FixedSize, GoingFromPassToPassReadsNothingTwice) {
  int reads = 0;
  Flow flow = Sequential(7, &reads) | fixed_size(4);
  for (std::uint64_t epoch = 0; epoch < 10; ++epoch) pass(flow, epoch);
  EXPECT_EQ(reads, 40);
  pass(flow, 3);
  EXPECT_EQ(reads, 40 + 16);
}

TEST(FixedSize, SkipsWithoutReadingWhereThereIsRandomAccess) {
  int reads = 0;
  Flow flow = numbered(100) | counting(reads) | fixed_size(30);
  EXPECT_EQ(pass(flow, 8).front(), 40);
  EXPECT_EQ(reads, 30);
  reads = 0;
  EXPECT_EQ(pass(flow, 2).front(), 60);
  EXPECT_EQ(reads, 30);
}

TEST(FixedSize, CanBeginAnewInEveryPass) {
  const auto make = [](int points) { return numbered(5) | shuffle(1) | fixed_size(points, {.keep_state = false}); };
  Flow once = numbered(5) | shuffle(1);
  for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
    std::vector<int> expected = pass(once, epoch);
    EXPECT_EQ(pass(make(3), epoch), std::vector<int>(expected.begin(), expected.begin() + 3));
    const std::vector<int> after = pass(once, epoch + 1);
    expected.insert(expected.end(), after.begin(), after.begin() + 2);
    EXPECT_EQ(pass(make(7), epoch), expected);
  }
  expect_exact_restore([&] { return make(3); });
  expect_exact_restore([&] { return make(7); });
}

TEST(FixedSize, AnEmptyFlowIsAnErrorInsteadOfAHang) {
  EXPECT_EQ(error_of([] { numbered(3) | batch(4) | fixed_size(2); }),
            "[fixed_size] expected a flow with points to fill 2 places, got an empty pass of 'list | batch(4)'. Is the "
            "batch larger than the data, or does a filter keep nothing?");
  Flow unknown_size = Sequential(0) | fixed_size(2);
  const std::string empty =
      "[fixed_size] expected a flow with points to fill 2 places, got an empty pass of 'sequential'. Is the batch "
      "larger than the data, or does a filter keep nothing?";
  EXPECT_EQ(error_of([&] { unknown_size.next(); }), empty);
  EXPECT_EQ(error_of([&] { unknown_size.start_epoch(3); }), empty);
  EXPECT_EQ(error_of([] { fixed_size(0); }), "[fixed_size] expected at least 1 point in a pass, got 0.");
}

TEST(FixedSize, StartsAgainAfterAnErrorOrACancel) {
  bool fails = false;
  Flow flow = Sequential(5) | map([&](DataPoint point) {
                BELFRY_CHECK(!fails, "[test] no such luck");
                return point;
              }) |
              fixed_size(3);
  flow.next();
  fails = true;
  EXPECT_THROW(flow.next(), Error);
  fails = false;
  EXPECT_EQ(pass(flow, 1), (std::vector<int>{3, 4, 0}));

  Flow cancelled = numbered(5) | prefetch(1) | fixed_size(3);
  drain(cancelled);
  cancelled->cancel();
  EXPECT_EQ(pass(cancelled, 1), (std::vector<int>{3, 4, 0}));
}

TEST(FixedSize, AnErrorAndACancelCostOneSeek) {
  int reads = 0;
  bool fails = false;
  Flow flow = Sequential(7, &reads) | map([&](DataPoint point) {
                BELFRY_CHECK(!fails, "[test] no such luck");
                return point;
              }) |
              fixed_size(4);
  fails = true;
  EXPECT_THROW(flow.next(), Error);
  fails = false;
  flow->cancel();
  reads = 0;
  for (std::uint64_t epoch = 0; epoch < 5; ++epoch) pass(flow, epoch);
  EXPECT_EQ(reads, 20);
}

TEST(FixedSize, AnEpochBeyondAllNumbersIsAnError) {
  Flow flow = numbered(5) | fixed_size(4);
  EXPECT_EQ(error_of([&] { flow.start_epoch(~std::uint64_t{0}); }),
            "[fixed_size] expected an epoch whose first point, epoch * 4, fits 64 bits, got epoch "
            "18446744073709551615.");
}

}  // namespace
}  // namespace belfry
