#include "belfry/engine/device_team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "belfry/base/parallel.h"
#include "tests/support/thread_watch.h"

namespace belfry {
namespace {

TEST(DeviceTeam, OneDeviceRunsOnTheCallersThread) {
  DeviceTeam team(std::vector<DeviceInfo>{{2}});
  const int before = team_size();
  std::thread::id where;
  int size = 0;
  team.run(1, [&](int device) {
    EXPECT_EQ(device, 0);
    where = std::this_thread::get_id();
    size = team_size();
  });
  EXPECT_EQ(where, std::this_thread::get_id());
  EXPECT_EQ(size, 2);
  EXPECT_EQ(team_size(), before);
}

TEST(DeviceTeam, EachDeviceHasAThreadAndATeamOfItsOwn) {
  DeviceTeam team({{1}, {2}, {3}});
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::vector<int> sizes(3, 0);
  for (int round = 0; round < 3; ++round)
    team.run(3, [&](int device) {
      const std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
      sizes[static_cast<std::size_t>(device)] = team_size();
    });
  EXPECT_EQ(threads.size(), 3u);  // the same three every time
  EXPECT_TRUE(threads.contains(std::this_thread::get_id()));
  EXPECT_EQ(sizes, (std::vector{1, 2, 3}));
}

TEST(DeviceTeam, DevicesRunAtTheSameTime) {
  DeviceTeam team({{1}, {1}, {1}});
  std::atomic<int> here = 0;
  team.run(3, [&](int) {  // ends only if all three are inside together
    ++here;
    while (here < 3) std::this_thread::yield();
  });
  EXPECT_EQ(here, 3);
}

TEST(DeviceTeam, RunReturnsWhenAllAreDoneAndOnlyThoseAskedRun) {
  DeviceTeam team({{1}, {1}, {1}});
  for (int round = 0; round < 300; ++round) {
    const int asked = 1 + round % 3;
    std::vector<int> ran(3, 0);
    team.run(asked, [&](int device) { ran[static_cast<std::size_t>(device)] = 1; });
    for (int d = 0; d < 3; ++d) ASSERT_EQ(ran[static_cast<std::size_t>(d)], d < asked ? 1 : 0);
  }
}

TEST(DeviceTeam, ATeamThatNeverRanEnds) {
  const ThreadWatch threads;
  for (int i = 0; i < 20; ++i) {
    const DeviceTeam team({{1}, {1}, {1}, {1}});
    EXPECT_GE(threads_of_this_process(), 4) << "the caller's and three of the team";
  }
  EXPECT_TRUE(threads.none_left());
}

}  // namespace
}  // namespace belfry
