#include "belfry/base/queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace belfry {
namespace {

TEST(BoundedQueue, DeliversInOrderAndThenEnds) {
  BoundedQueue<int> queue(3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(queue.push(i));
  queue.close();
  EXPECT_FALSE(queue.push(9));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(queue.pop(), i);
  EXPECT_EQ(queue.pop(), std::nullopt);
  EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(BoundedQueue, NeverHoldsMoreThanItsCapacity) {
  BoundedQueue<int> queue(2);
  std::thread producer([&] {
    for (int i = 0; i < 500; ++i) queue.push(i);
    queue.close();
  });
  int expected = 0;
  while (auto value = queue.pop()) {
    EXPECT_LE(queue.size(), 2u);
    EXPECT_EQ(*value, expected++);
  }
  producer.join();
  EXPECT_EQ(expected, 500);
}

TEST(BoundedQueue, AnErrorComesAfterTheQueuedValuesAndOnlyOnce) {
  BoundedQueue<int> queue(4);
  queue.push(1);
  queue.close(std::make_exception_ptr(std::out_of_range("disk on fire")));
  queue.close(std::make_exception_ptr(std::runtime_error("a second close has no effect")));
  EXPECT_EQ(queue.pop(), 1);
  try {
    queue.pop();
    FAIL();
  } catch (const std::out_of_range& e) {
    EXPECT_STREQ(e.what(), "disk on fire");
  }
  EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(BoundedQueue, CancelWakesAProducerThatWaitsForRoom) {
  BoundedQueue<int> queue(1);
  queue.push(0);
  bool pushed = true;
  std::thread producer([&] { pushed = queue.push(1); });
  queue.cancel();
  producer.join();
  EXPECT_FALSE(pushed);
  EXPECT_TRUE(queue.cancelled());
  EXPECT_EQ(queue.size(), 0u);
}

TEST(BoundedQueue, CancelWakesAConsumerAndDropsTheError) {
  BoundedQueue<int> queue(1);
  std::optional<int> got = 1;
  std::thread consumer([&] { got = queue.pop(); });
  queue.cancel();
  consumer.join();
  EXPECT_EQ(got, std::nullopt);

  BoundedQueue<int> failed(1);
  failed.close(std::make_exception_ptr(std::runtime_error("dropped")));
  failed.cancel();
  EXPECT_EQ(failed.pop(), std::nullopt);
}

TEST(BoundedQueue, CloseWakesEveryWaitingConsumer) {
  BoundedQueue<int> queue(1);
  std::vector<std::thread> consumers;
  for (int i = 0; i < 4; ++i) consumers.emplace_back([&] { EXPECT_EQ(queue.pop(), std::nullopt); });
  queue.close();
  for (auto& consumer : consumers) consumer.join();
}

TEST(BoundedQueue, CanBeReopened) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  queue.push(std::make_unique<int>(1));
  queue.cancel();
  queue.reopen();
  EXPECT_FALSE(queue.cancelled());
  EXPECT_TRUE(queue.push(std::make_unique<int>(2)));
  EXPECT_EQ(**queue.pop(), 2);
}

TEST(BoundedQueue, ARestartDropsEverythingAndWhoWaitsForAValueGoesOnWaiting) {
  BoundedQueue<int> queue(2);
  queue.push(1);
  queue.close(std::make_exception_ptr(std::runtime_error("dropped")));
  queue.restart();
  EXPECT_EQ(queue.size(), 0u);
  std::optional<int> got;
  std::thread consumer([&] { got = queue.pop(); });
  for (int i = 0; i < 100; ++i) queue.restart();
  queue.push(2);
  consumer.join();
  EXPECT_EQ(got, 2);
  queue.cancel();
  queue.restart();
  EXPECT_TRUE(queue.push(3));
}

TEST(BoundedQueue, AProducerThatWaitsForRoomCanGiveUp) {
  BoundedQueue<int> queue(1);
  queue.push(1);
  std::atomic<bool> given_up = false;
  std::atomic<bool> pushed = true;
  std::thread producer([&] { pushed = queue.push(2, &given_up); });
  given_up = true;
  queue.wake();
  producer.join();
  EXPECT_FALSE(pushed);
  EXPECT_EQ(queue.size(), 1u);  // the queue itself is as it was
  EXPECT_FALSE(queue.closed());
}

TEST(BoundedQueue, ManyProducersAndConsumersLoseNothing) {
  BoundedQueue<int> queue(3);
  constexpr int kEach = 400;
  std::vector<std::thread> producers, consumers;
  std::vector<std::vector<int>> got(3);
  for (int p = 0; p < 3; ++p)
    producers.emplace_back([&queue, p] {
      for (int i = 0; i < kEach; ++i) queue.push(p * kEach + i);
    });
  for (auto& mine : got)
    consumers.emplace_back([&queue, &mine] {
      while (auto value = queue.pop()) mine.push_back(*value);
    });
  for (auto& thread : producers) thread.join();
  queue.close();
  for (auto& thread : consumers) thread.join();
  std::vector<int> all;
  for (auto& mine : got) all.insert(all.end(), mine.begin(), mine.end());
  std::ranges::sort(all);
  ASSERT_EQ(all.size(), 3u * kEach);
  for (int i = 0; i < 3 * kEach; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], i);
}

TEST(BoundedQueue, ACapacityOfZeroIsAnError) {
  try {
    BoundedQueue<int> queue(0);
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "[queue] expected a capacity of at least 1, got 0.");
  }
}

}  // namespace
}  // namespace belfry
