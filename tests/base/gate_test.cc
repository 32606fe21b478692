#include "belfry/base/gate.h"

#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace belfry {
namespace {

const std::atomic<bool> kNever = false;

TEST(GateTest, ManyAreInsideOrOneIsAlone) {
  Gate gate;
  int shared = 0;               // written only by who is alone
  std::atomic<int> inside = 0;  // visitors
  std::atomic<bool> wrong = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        if ((i + t) % 5 == 0) {
          const GateAlone alone(&gate);
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
  const GateAlone alone(&gate);
  const GateAlone again(&gate);
  const GateVisit visit(&gate, kNever);
  SUCCEED();
}

TEST(GateTest, WhoeverGivesUpDoesNotWait) {
  Gate gate;
  std::atomic<bool> given_up = false;
  std::thread visitor;
  bool entered = true;
  {
    const GateAlone alone(&gate);
    visitor = std::thread([&] { entered = gate.enter(given_up); });
    given_up = true;
    gate.wake();
    visitor.join();
  }
  EXPECT_FALSE(entered);
}

}  // namespace
}  // namespace belfry
