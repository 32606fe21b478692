#include "belfry/base/internal/spin_control.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "belfry/base/parallel.h"

namespace belfry {
namespace {

constexpr std::int64_t kMs = 1'000'000;

// A thread that works all the time, on a machine that lets it wait for a share of it.
class Machine {
 public:
  // Works for this many milliseconds, checking in each of them; returns the decision at the end.
  bool work(std::int64_t milliseconds, double waiting) {
    for (std::int64_t i = 0; i < milliseconds; ++i) {
      now_ += kMs;
      times_.waited += static_cast<std::int64_t>(waiting * kMs);
      times_.ran += static_cast<std::int64_t>((1 - waiting) * kMs);
      if (decision_.due(now_)) last_ = decision_.short_spins(now_, times_);
    }
    return last_;
  }
  // Milliseconds of work until the decision is another; -1 after a minute.
  std::int64_t until_changed(double waiting) {
    const bool before = last_;
    for (std::int64_t i = 1; i <= 60'000; ++i)
      if (work(1, waiting) != before) return i;
    return -1;
  }
  void sleep(std::int64_t milliseconds) { now_ += milliseconds * kMs; }

 private:
  SpinDecision decision_;
  CoreTimes times_;
  std::int64_t now_ = 1'000'000 * kMs;
  bool last_ = false;
};

TEST(SpinDecision, SpinsAreLongWhereTheThreadHasItsCore) {
  Machine machine;
  EXPECT_FALSE(machine.work(5000, 0.01));
  EXPECT_FALSE(machine.work(5000, 0.08));
}

TEST(SpinDecision, SpinsAreShortSoonAfterTheMachineGetsBusyAndUntilItIsCalm) {
  Machine machine;
  machine.work(1000, 0);
  EXPECT_LE(machine.until_changed(0.5), 20);
  EXPECT_TRUE(machine.work(10'000, 0.5));
  EXPECT_TRUE(machine.work(10'000, 0.05)) << "neither busy nor calm: as it is";
  const std::int64_t calm = machine.until_changed(0);
  EXPECT_GT(calm, 0);
  EXPECT_LE(calm, 1000);
  EXPECT_FALSE(machine.work(10'000, 0.05));
}

TEST(SpinDecision, AReleaseThatWasWrongIsTriedAgainLessAndLessOften) {
  Machine machine;
  machine.work(100, 0);
  ASSERT_GT(machine.until_changed(0.5), 0);
  std::vector<std::int64_t> held;
  for (int i = 0; i < 8; ++i) {
    held.push_back(machine.until_changed(0));        // it sleeps so much that it hardly waits ...
    ASSERT_LE(machine.until_changed(0.5), 20) << i;  // ... and does as soon as it spins
  }
  for (std::size_t i = 1; i < held.size(); ++i) EXPECT_GE(held[i], held[i - 1]);
  EXPECT_LE(held[0], 500);
  EXPECT_GE(held.back(), 8000);
  EXPECT_LE(held.back(), 16'000);
  machine.until_changed(0);
  machine.work(60'000, 0);
  machine.until_changed(0.5);
  EXPECT_LE(machine.until_changed(0), 500) << "after a calm minute it starts anew";
}

TEST(SpinDecision, IsNotMadeFromTooLittleWork) {
  Machine machine;
  machine.work(100, 0);
  for (int i = 0; i < 4; ++i) {
    machine.sleep(1000);
    EXPECT_FALSE(machine.work(1, 0.9)) << "waking up once takes a while anywhere";
  }
}

// Without the variable, or with it, until the end of the scope.
class WaitPolicy {
 public:
  explicit WaitPolicy(const char* value) {
    if (const char* now = std::getenv(kName)) before_ = now;
    set(value);
  }
  ~WaitPolicy() { set(before_.empty() ? nullptr : before_.c_str()); }

 private:
  static constexpr const char* kName = "OMP_WAIT_POLICY";
  static void set(const char* value) { value != nullptr ? setenv(kName, value, 1) : unsetenv(kName); }
  std::string before_;
};

TEST(SpinControl, LeavesTheUsersDecisionAndSingleThreadsAlone) {
  const WaitPolicy policy("active");
  SpinControl control(2);
  EXPECT_FALSE(control.active());
  control.observe();
  EXPECT_FALSE(control.short_spins());
  const WaitPolicy none(nullptr);
  EXPECT_FALSE(SpinControl(1).active());
}

TEST(SpinControl, ShortensSpinsWhereThreadsOutnumberTheCoresAndLoopsStayRight) {
  const WaitPolicy none(nullptr);
  SpinControl control(2);
  if (!control.active()) GTEST_SKIP() << "the system does not tell how long threads wait, or GOMP_SPINCOUNT is set";

  std::atomic<bool> stop = false;
  std::vector<std::thread> others;
  for (int i = 0; i < 4 * hardware_threads(); ++i)
    others.emplace_back([&] {
      while (!stop) {
      }
    });
  const TeamScope scope(2);
  const auto sum = [] {
    std::vector<std::int64_t> sums(2);
    parallel_parts(2, [&](int part, int) {
      for (std::int64_t i = part; i < 100'000; i += 2) sums[static_cast<std::size_t>(part)] += i;
    });
    return sums[0] + sums[1];
  };
  bool right = true;
  for (int i = 0; i < 100'000 && !control.short_spins(); ++i) {
    right = right && sum() == 4'999'950'000;
    control.observe();
  }
  EXPECT_TRUE(control.short_spins());
  for (int i = 0; i < 10; ++i) right = right && sum() == 4'999'950'000;
  EXPECT_TRUE(right);
  stop = true;
  for (std::thread& other : others) other.join();
}

}  // namespace
}  // namespace belfry
