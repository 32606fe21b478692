#include "belfry/dataflow/section.h"

#include <set>

#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/prefetch.h"
#include "belfry/dataflow/repeat.h"
#include "belfry/dataflow/shuffle.h"
#include "tests/dataflow/flow_testing.h"
#include "tests/dataflow/restore_checks.h"

namespace belfry {
namespace {

std::vector<int> between(int first, int last) {
  std::vector<int> out;
  for (int i = first; i < last; ++i) out.push_back(i);
  return out;
}

TEST(Section, TakeAndSkipCutEachPass) {
  for (const int points : {0, 1, 5, 7}) {
    for (const bool sequential : {false, true}) {
      const auto source = [&] { return sequential ? Flow(Sequential(points)) : numbered(points); };
      for (const int n : {0, 1, 5, 9}) {
        const int cut = std::min(n, points);
        const auto taken = [&] { return source() | take(n); };
        const auto rest = [&] { return source() | skip(n); };
        Flow first = taken(), second = rest();
        for (std::uint64_t epoch : {1, 0}) {
          EXPECT_EQ(pass(first, epoch), between(0, cut));
          EXPECT_EQ(first.next(), std::nullopt);
          EXPECT_EQ(pass(second, epoch), between(cut, points));
          EXPECT_EQ(second.next(), std::nullopt);
        }
        expect_exact_restore(taken);
        expect_exact_restore(rest);
        if (sequential) continue;
        EXPECT_EQ(first.known_size(), cut);
        EXPECT_EQ(second.known_size(), points - cut);
        expect_random_access_in_order(taken);
        expect_random_access_in_order(rest);
      }
    }
  }
}

TEST(Section, ReadsNothingThatIsNotWanted) {
  int reads = 0;
  EXPECT_EQ(drain(Sequential(100, &reads) | take(3)), upto(3));
  EXPECT_EQ(reads, 3);
  EXPECT_EQ(drain(numbered(1) | repeat() | take(4)), (std::vector<int>{0, 0, 0, 0}));
  EXPECT_FALSE((numbered(1) | repeat() | take(4))->endless());
  EXPECT_TRUE((numbered(1) | repeat() | skip(4))->endless());
  Flow rows = numbered(8) | skip(2) | take(4);
  EXPECT_NE(rows->random_access()->row_spec(), nullptr);
  EXPECT_EQ(drain(rows | batch(2)), between(2, 6));
}

TEST(Section, BehindAShuffleAPassHasOtherPoints) {
  Flow flow = numbered(50) | shuffle(1) | take(10);
  const std::vector<int> first = pass(flow, 0), second = pass(flow, 1);
  EXPECT_NE(std::set<int>(first.begin(), first.end()), std::set<int>(second.begin(), second.end()));
}

TEST(Section, SplitCutsOffTheSamePointsInEveryEpoch) {
  for (const bool shuffled : {false, true}) {
    const auto parts = [&] { return split(shuffled ? numbered(20) | shuffle(3) : numbered(20), 0.75); };
    auto [train, validation] = parts();
    EXPECT_EQ(train.known_size(), 15);
    EXPECT_EQ(validation.known_size(), 5);
    const std::vector<int> first = pass(train, 0), rest = pass(validation, 0);
    EXPECT_EQ(first == upto(15), !shuffled);
    std::set<int> all(first.begin(), first.end());
    all.insert(rest.begin(), rest.end());
    EXPECT_EQ(all.size(), 20u);
    EXPECT_EQ(pass(train, 4), first);
    EXPECT_EQ(pass(validation, 2), rest);
    expect_exact_restore([&] { return parts().first; });
    expect_exact_restore([&] { return parts().second; });
    expect_random_access_in_order([&] { return parts().second | shuffle(1); });
  }
  const auto [none, all] = split_at(numbered(3), 0);
  EXPECT_EQ(drain(none), upto(0));
  EXPECT_EQ(drain(all), upto(3));
  EXPECT_EQ(drain(split(numbered(3), 0.5).first), upto(2)) << "rounded to the nearest, halves up";
}

TEST(Section, BothPartsMayBeReadAtTheSameTime) {
  auto [a, b] = split_at(numbered(400) | shuffle(1), 200);
  Flow first = a | map([](DataPoint point) { return point; }, {.threads = 2}) | prefetch(4),
       second = b | shuffle(2) | map([](DataPoint point) { return point; }, {.threads = 2}) | prefetch(4);
  std::set<int> all;
  for (int i = 0; i < 200; ++i)
    for (Flow* flow : {&first, &second}) all.insert(static_cast<int>((*flow->next())[0].item()));
  EXPECT_EQ(all.size(), 400u);
}

TEST(Section, PartsDrawDifferentNumbers) {
  const auto draws = [](Flow flow) {
    return drain(flow | map([](DataPoint, RandomStream& random) {
                   return DataPoint{Array(static_cast<int>(random.below(1'000'000)))};
                 }));
  };
  const auto [a, b] = split_at(numbered(10), 5);
  EXPECT_NE(draws(a), draws(b));
}

TEST(Section, MistakesSayWhatIsWrong) {
  EXPECT_EQ(error_of([] { take(-1); }), "[take] expected 0 points or more, got -1.");
  EXPECT_EQ(error_of([] { skip(-2); }), "[skip] expected 0 points or more, got -2.");
  EXPECT_EQ(error_of([] { split(numbered(3), 1.5); }),
            "[split] expected a share from 0 to 1, got 1.5. split_at() takes a number.");
  EXPECT_EQ(error_of([] { split_at(numbered(3), 4); }),
            "[split_at] expected a number from 0 to the flow's 3 points, got 4.");
  EXPECT_EQ(error_of([] { split(Sequential(3), 0.5); }),
            "[split] expected a flow with random access, got 'sequential'. Split it before stages that read in order, "
            "cache it first, or build it twice, with take() and with skip().");
  Flow three = numbered(9) | take(3), four = numbered(9) | take(4);
  EXPECT_EQ(
      error_of([&] { four.restore(without_identity(three.state())); }),
      "[restore] expected a state of 'take' with most = 5, got 4. The flow must be built as it was when the state "
      "was taken.");
  Flow whole = numbered(4);
  const auto parts = split(whole, 0.5);
  EXPECT_NE(error_of([&] { whole.next(); }).find("feeds"), std::string::npos);
}

}  // namespace
}  // namespace belfry
