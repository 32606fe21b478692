#include "belfry/base/internal/gate.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tests/support/errors.h"

namespace belfry {
namespace {

const std::atomic<bool> kNever = false;

TEST(GateTest, ManyAreInsideOrOneIsAlone) {
  Gate gate;
  int shared = 0;               // written only by a thread that is alone
  std::atomic<int> inside = 0;  // visitors
  std::atomic<bool> wrong = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        if ((i + t) % 5 == 0) {
          const GateAlone alone(&gate, kNever);
          if (inside != 0) wrong = true;
          ++shared;
        } else {
          const GateVisit visit(&gate, kNever);
          ++inside;
          if (shared < 0) wrong = true;
          --inside;
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(wrong);
  EXPECT_EQ(shared, 400);
}

TEST(GateTest, WhoIsAloneMayEnterAgain) {
  Gate gate;
  const GateAlone alone(&gate, kNever);
  const GateAlone again(&gate, kNever);
  const GateVisit visit(&gate, kNever);
  SUCCEED();
}

TEST(GateTest, AVisitorWhoWantsToEnterAgainIsToldSo) {
  Gate gate;
  const GateVisit visit(&gate, kNever);
  EXPECT_TRUE(contains(error_of([&] { gate.enter(kNever); }), "expected no run from inside a run"));
  EXPECT_TRUE(contains(error_of([&] { gate.enter_alone(kNever); }), "expected no run from inside a run"));
}

TEST(GateTest, WhoeverGivesUpDoesNotWait) {
  Gate gate;
  std::atomic<bool> given_up = false;
  bool entered = true, entered_alone = true;
  const GateAlone alone(&gate, kNever);
  std::thread visitor([&] { entered = gate.enter(given_up); });
  std::thread other([&] { entered_alone = gate.enter_alone(given_up); });
  given_up = true;
  gate.wake();
  visitor.join();
  other.join();
  EXPECT_FALSE(entered);
  EXPECT_FALSE(entered_alone);
}

TEST(GateTest, WhoeverHasGivenUpEntersWhereThereIsNothingToWaitFor) {
  Gate gate;
  const std::atomic<bool> given_up = true;
  EXPECT_TRUE(GateVisit(&gate, given_up).inside());
  EXPECT_TRUE(GateAlone(&gate, given_up).inside());
  const GateVisit visit(&gate, kNever);
  std::thread other([&] {
    EXPECT_TRUE(GateVisit(&gate, given_up).inside());
    EXPECT_FALSE(GateAlone(&gate, given_up).inside());
  });
  other.join();
}

}  // namespace
}  // namespace belfry
