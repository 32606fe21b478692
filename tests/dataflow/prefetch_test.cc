#include "belfry/dataflow/prefetch.h"

#include <atomic>
#include <exception>
#include <thread>

#include "belfry/base/queue.h"
#include "belfry/base/random.h"
#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/repeat.h"
#include "belfry/dataflow/shuffle.h"
#include "tests/dataflow/flow_testing.h"

namespace belfry {
namespace {

template <class Exception>
FlowStage failing_at(int value) {
  return map([=](DataPoint point) {
    if (point[0].item() == value) throw Exception("no such luck");
    return point;
  });
}

TEST(Prefetch, GivesTheSamePointsInTheSameOrder) {
  Flow plain = numbered(40) | shuffle(1), ahead = numbered(40) | shuffle(1) | prefetch(3);
  EXPECT_EQ(ahead.known_size(), 40);
  for (std::uint64_t epoch = 0; epoch < 5; ++epoch) EXPECT_EQ(pass(ahead, epoch), pass(plain, epoch));
  EXPECT_EQ(ahead.next(), std::nullopt);
}

TEST(Prefetch, ReadsOnAnotherThreadUpToItsDepthAhead) {
  std::atomic<int> read = 0;
  const std::thread::id here = std::this_thread::get_id();
  Flow flow = numbered(100) | map([&](DataPoint point) {
                EXPECT_NE(std::this_thread::get_id(), here);
                ++read;
                read.notify_all();
                return point;
              }) |
              prefetch(4);
  flow.next();
  // One point is consumed, four are queued, one is in the worker's hand.
  for (int seen = read; seen < 6; seen = read) read.wait(seen);
  flow.start_epoch(1);  // joins the worker, so that the count is final
  EXPECT_EQ(read, 6);
}

TEST(Prefetch, TheStateIsThatOfTheLastPointConsumed) {
  Flow flow = numbered(10) | prefetch(8);
  for (int i = 0; i < 3; ++i) flow.next();
  EXPECT_EQ(flow.state().from[0].at("position"), 3u);
  flow.restore(flow.state());
  EXPECT_EQ(drain(flow), (std::vector<int>{3, 4, 5, 6, 7, 8, 9}));
}

TEST(Prefetch, AnErrorArrivesOnceAfterThePointsBeforeItAndNamesTheStages) {
  Flow flow = numbered(10) | failing_at<FileError>(3) | prefetch(8);
  for (int i = 0; i < 3; ++i) EXPECT_EQ((*flow.next())[0].item(), i);
  EXPECT_EQ(error_of<FileError>([&] { flow.next(); }),
            "[map] the function of 'list | map' failed at point 3 of epoch 0: no such luck");
  EXPECT_EQ(
      error_of([&] { flow.next(); }),
      "[prefetch] expected a pass that goes on, got one that ended with an error. Call start_epoch() or restore() "
      "first.");
  flow.start_epoch(1);
  EXPECT_EQ((*flow.next())[0].item(), 0);
}

TEST(Prefetch, AForeignExceptionIsNestedInTheError) {
  Flow flow = numbered(10) | failing_at<std::out_of_range>(0) | batch(2) | prefetch(1);
  try {
    flow.next();
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "[map] the function of 'list | map' failed at point 0 of epoch 0: no such luck");
    EXPECT_THROW(std::rethrow_if_nested(e), std::out_of_range);
  }
}

TEST(Prefetch, AFailedPointCanBeTriedAgain) {
  bool fail_once = true;
  Flow flow = numbered(5) | map([&](DataPoint point) {
                if (point[0].item() == 2 && std::exchange(fail_once, false)) throw Error("try again");
                return point;
              }) |
              prefetch(2);
  flow.next(), flow.next();
  EXPECT_THROW(flow.next(), Error);
  flow.restore(flow.state());
  EXPECT_EQ(drain(flow), (std::vector<int>{2, 3, 4}));
}

TEST(Prefetch, ErrorsTravelThroughSeveralThreads) {
  Flow flow = numbered(10) | failing_at<NumericError>(4) | prefetch(2) | batch(2) | prefetch(2);
  flow.next(), flow.next();
  EXPECT_EQ(error_of<NumericError>([&] { flow.next(); }),
            "[map] the function of 'list | map' failed at point 4 of epoch 0: no such luck");
}

TEST(Prefetch, AnErrorOfAStageThatDoesNotSayWhereItStandsNamesTheFlow) {
  Flow flow = from_list({{Array(1)}, {Array(1), Array(2)}}) | batch(2) | prefetch(2) | prefetch(2);
  EXPECT_EQ(error_of([&] { flow.next(); }),
            "[prefetch] the flow 'list | batch(2)' failed: [batch] expected 1 components in every point of the batch, "
            "got 2 in row 1.");
}

TEST(Prefetch, CanBeDestroyedAtAnyMoment) {
  RandomStream random(3);
  const auto alive = std::make_shared<int>();  // held by the source as long as there is one
  for (int round = 0; round < 200; ++round) {
    EXPECT_EQ(alive.use_count(), 1) << "the flow of the round before, or a thread of it, is still there";
    Flow flow = numbered(20) | map([alive](DataPoint point) { return point; }) |
                prefetch(1 + static_cast<int>(random.below(4))) | batch(2) | repeat() |
                prefetch(1 + static_cast<int>(random.below(4)));
    for (std::uint64_t left = random.below(30); left > 0; --left) flow.next();
    if (random.below(3) == 0) flow.start_epoch(5);
    if (random.below(3) == 0) flow.next();
  }
  EXPECT_EQ(alive.use_count(), 1);
}

TEST(Prefetch, AnErrorThatNobodyTakesIsDropped) {
  struct Held final : Error {
    explicit Held(std::shared_ptr<int> t) : Error("no such luck"), token(std::move(t)) {}
    std::shared_ptr<int> token;
  };
  const auto alive = std::make_shared<int>();  // held by the error as long as there is one
  for (int round = 0; round < 50; ++round) {
    std::atomic<bool> failed = false;
    Flow flow = numbered(10) | map([&](DataPoint point) {
                  if (point[0].item() != 1) return point;
                  Held error(alive);
                  failed = true;
                  failed.notify_all();
                  throw error;
                }) |
                prefetch(4);
    flow.next();
    failed.wait(false);
    EXPECT_GE(alive.use_count(), 2);
    flow = {};
    EXPECT_EQ(alive.use_count(), 1);
  }
}

// Waits for points that somebody else may never send.
class Waiting final : public DataFlow {
 public:
  explicit Waiting(BoundedQueue<int>& queue) : queue_(&queue) {}
  void start_epoch(std::uint64_t) override {
    if (queue_->cancelled()) queue_->reopen();
  }
  std::uint64_t epoch() const override { return 0; }
  std::optional<DataPoint> next() override {
    std::optional<int> value = queue_->pop();
    if (queue_->cancelled()) throw Error("[waiting] cancelled.");
    if (!value) return std::nullopt;
    return DataPoint{Array(*value)};
  }
  std::optional<std::int64_t> size() const override { return std::nullopt; }
  FlowState state() const override { return {"waiting", {}, {}}; }
  void restore(const FlowState&) override {}
  std::string describe() const override { return "waiting"; }
  void cancel() override { queue_->cancel(); }

 private:
  BoundedQueue<int>* queue_;
};

TEST(Prefetch, DestructionEndsASourceThatWaits) {
  BoundedQueue<int> queue(1);
  {
    Flow flow = Waiting(queue) | prefetch(2) | batch(1) | prefetch(2);
    queue.push(4);
    EXPECT_EQ((*flow.next())[0].item(), 4);
  }
  EXPECT_TRUE(queue.cancelled());
}

TEST(Prefetch, CancelEndsAWaitingConsumerWithAnError) {
  BoundedQueue<int> queue(1);
  Flow flow = Waiting(queue) | prefetch(2);
  std::string text;
  std::thread consumer([&] { text = error_of([&] { flow.next(); }); });
  flow->cancel();
  consumer.join();
  EXPECT_EQ(text, "[prefetch] expected a point of 'waiting | prefetch(2)', but the flow was cancelled.");
}

TEST(Prefetch, ADepthBelowOneIsAnError) {
  EXPECT_EQ(error_of([] { prefetch(0); }), "[prefetch] expected a depth of at least 1 point, got 0.");
}

}  // namespace
}  // namespace belfry
