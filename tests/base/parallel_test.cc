#include "belfry/base/parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace belfry {
namespace {

struct Range {
  std::int64_t begin, end;
  bool operator==(const Range&) const = default;
};

// The ranges that parallel_for hands out, in order of their begin.
std::vector<Range> ranges(std::int64_t n, std::int64_t grain) {
  std::vector<Range> found(64);
  std::atomic<std::size_t> count = 0;
  parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) { found[count++] = {begin, end}; });
  found.resize(count);
  std::ranges::sort(found, {}, &Range::begin);
  return found;
}

TEST(ParallelFor, CoversEachIndexOnceForAnySizeGrainAndTeam) {
  for (int team : {1, 2, 3, 4}) {
    const TeamScope scope(team);
    for (std::int64_t grain : {0, 1, 2, 7, 64, 1000})
      for (std::int64_t n : {0, 1, 2, 3, 5, 8, 63, 64, 65, 127, 999, 1000, 1001, 4096}) {
        std::vector<int> visits(static_cast<std::size_t>(n));  // plain ints: a shared index would be a race to report
        parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
        });
        EXPECT_TRUE(std::ranges::all_of(visits, [](int v) { return v == 1; })) << n << " " << grain << " " << team;
      }
  }
}

TEST(ParallelFor, RangesAreAtLeastTheGrainAndAtMostTheTeam) {
  for (int team : {1, 2, 3, 4}) {
    const TeamScope scope(team);
    for (std::int64_t grain : {1, 10, 64})
      for (std::int64_t n : {1, 9, 64, 100, 1000}) {
        const std::vector<Range> all = ranges(n, grain);
        EXPECT_LE(all.size(), static_cast<std::size_t>(team));
        EXPECT_EQ(all.back().end, n);
        for (std::size_t i = 0; i < all.size(); ++i) {
          EXPECT_EQ(all[i].begin, i == 0 ? 0 : all[i - 1].end);
          EXPECT_GE(all[i].end - all[i].begin, std::min(n, grain));
        }
      }
  }
}

TEST(ParallelFor, SplitsTheSameWayEachTime) {
  const TeamScope scope(3);
  const std::vector<Range> first = ranges(1000, 10);
  EXPECT_EQ(first.size(), 3u);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ranges(1000, 10), first);
}

TEST(ParallelFor, RunsInlineWhenOneRangeSuffices) {
  const TeamScope scope(4);
  std::thread::id ran_on;
  parallel_for(100, 100, [&](std::int64_t, std::int64_t) { ran_on = std::this_thread::get_id(); });
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

TEST(ParallelFor, WritesOfTheBodyAreSeenAfterTheLoop) {
  const TeamScope scope(2);
  std::vector<std::int64_t> values(1000);
  for (int round = 1; round <= 50; ++round) {
    for (auto& value : values) value = round;  // the team must see these, and this thread the team's
    parallel_for(1000, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) values[static_cast<std::size_t>(i)] *= i;
    });
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], round * static_cast<std::int64_t>(i));
  }
}

TEST(ParallelParts, RunsEachPartOnce) {
  const TeamScope scope(3);
  for (int asked : {1, 2, 3}) {
    std::vector<int> visits(static_cast<std::size_t>(asked));
    parallel_parts(asked, [&](int part, int parts) {
      EXPECT_EQ(parts, asked);
      ++visits[static_cast<std::size_t>(part)];
    });
    EXPECT_EQ(visits, std::vector<int>(static_cast<std::size_t>(asked), 1));
  }
}

TEST(ParallelParts, NeverExceedTheTeam) {
  const TeamScope scope(2);
  std::vector<int> visits(2);
  parallel_parts(5, [&](int part, int parts) {
    EXPECT_EQ(parts, 2);
    ++visits[static_cast<std::size_t>(part)];
  });
  EXPECT_EQ(visits, (std::vector<int>{1, 1}));
}

// A thread that is ended and made again costs a hundred times what a fork does.
TEST(ParallelParts, OfAnyNumberRunOnTheSameThreads) {
  const TeamScope scope(4);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  for (int round = 0; round < 20; ++round)
    for (int parts : {4, 2, 3})
      parallel_parts(parts, [&](int, int) {
        const std::lock_guard lock(mutex);
        threads.insert(std::this_thread::get_id());
      });
  EXPECT_EQ(threads.size(), 4u);
}

TEST(TeamScope, SetsTheSizeOfThisThreadsTeamUntilItsEnd) {
  const int before = team_size();
  {
    const TeamScope outer(3);
    EXPECT_EQ(team_size(), 3);
    {
      const TeamScope inner(1);
      EXPECT_EQ(team_size(), 1);
    }
    EXPECT_EQ(team_size(), 3);
    int elsewhere = 0;
    std::thread([&] {
      const TeamScope scope(2);
      elsewhere = team_size();
    }).join();
    EXPECT_EQ(elsewhere, 2);
    EXPECT_EQ(team_size(), 3);
  }
  EXPECT_EQ(team_size(), before);
}

TEST(TeamScope, TeamsOfDifferentThreadsWorkAtTheSameTime) {
  std::vector<std::int64_t> sums(3);
  std::vector<std::thread> threads;
  for (std::int64_t& sum : sums)
    threads.emplace_back([&sum] {
      const TeamScope scope(2);
      for (int round = 0; round < 20; ++round) {
        std::vector<std::int64_t> parts(2);
        parallel_parts(2, [&](int part, int) { parts[static_cast<std::size_t>(part)] = part + 1; });
        sum += parts[0] + parts[1];
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sums, (std::vector<std::int64_t>{60, 60, 60}));
}

}  // namespace
}  // namespace belfry
