// Queues and staging areas: points that a run takes before it starts.
#include "belfry/ops/queue.h"

#include <gtest/gtest.h>

#include <thread>

#include "belfry/ops/control_flow.h"
#include "tests/session/session_testing.h"
#include "tests/support/errors.h"

namespace belfry {
namespace {

class QueueTest : public testing_support::GraphTest {
 protected:
  static Array point(float value) { return Array::of<float>({1}, {value}); }
  static std::vector<TensorSpec> floats() { return {{"x", f32, {kAny}}}; }
};

TEST_F(QueueTest, ARunTakesOnePointForEachDequeueItNeedsInOrderOfCreation) {
  const Queue queue("q", floats());
  const Tensor a = queue.dequeue()[0], b = queue.dequeue()[0];
  Session session(graph);
  for (float v : {1.f, 2.f, 3.f, 4.f}) EXPECT_TRUE(session.queue(queue)->put({{point(v)}}));
  const std::vector<Array> both = session.run({b, a, a * 10.f});
  EXPECT_EQ(both[0].item(), 2);
  EXPECT_EQ(both[1].item(), 1);
  EXPECT_EQ(both[2].item(), 10);  // the same point, however often it is used
  EXPECT_EQ(session.run(a).item(), 3);
  EXPECT_EQ(session.queue(queue)->size(), 1);
}

TEST_F(QueueTest, WhatDoesNotDependOnTheQueueTakesNothing) {
  const Queue queue("q", floats());
  const Tensor x = queue.dequeue()[0];
  const Tensor other = constant(5.f) + 1.f;
  Session session(graph);
  session.queue(queue)->put({{point(1)}});
  EXPECT_EQ(session.run(other).item(), 6);
  EXPECT_EQ(session.run(x + 1.f, {{x, point(7)}}).item(), 8);  // fed: not taken
  EXPECT_EQ(session.run(queue.size()).item(), 1);
  EXPECT_EQ(session.run(x).item(), 1);
}

TEST_F(QueueTest, PointsOfSeveralShapesAreTakenByTheSameCallable) {
  const Queue queue("q", {{"x", f32, {kAny, 2}}, {"y", i32, {}}});
  const Tensors in = queue.dequeue();
  const Tensor scale = placeholder(f32, {}, "scale");
  Session session(graph);
  const Callable step = session.make_callable({in[0] * scale, in[1]}, {scale});
  const auto points = session.queue(queue);
  points->put({{Array::of<float>({1, 2}, {1, 2}), Array(std::int32_t{7})}});
  points->put({{Array::of<float>({2, 2}, {1, 2, 3, 4}), Array(std::int32_t{8})}});
  EXPECT_TRUE(equal(step(std::vector<Array>{Array(2.f)})[0], Array::of<float>({1, 2}, {2, 4})));
  const auto second = step(std::vector<Array>{Array(3.f)});
  EXPECT_TRUE(equal(second[0], Array::of<float>({2, 2}, {3, 6, 9, 12})));
  EXPECT_EQ(second[1].item(), 8);
}

TEST_F(QueueTest, ARunWaitsForAPointFromAnotherThread) {
  const Queue queue("q", floats(), {.capacity = 1});
  const Tensor x = queue.dequeue()[0];
  Session session(graph);
  std::thread producer([points = session.queue(queue)] {
    for (int i = 0; i < 100; ++i) points->put({{point(static_cast<float>(i))}});
    points->close();
  });
  for (int i = 0; i < 100; ++i) EXPECT_EQ(session.run(x).item(), i);
  producer.join();
  EXPECT_THROW(session.run(x), EndOfData);
  EXPECT_EQ(session.run(constant(1.f)).item(), 1);  // still usable
}

TEST_F(QueueTest, AProducersErrorReachesTheRun) {
  const Queue queue("q", floats());
  const Tensor x = queue.dequeue()[0];
  Session session(graph);
  session.queue(queue)->put({{point(1)}});
  session.queue(queue)->close(std::make_exception_ptr(FileError("[disk] expected a file, got none.")));
  EXPECT_EQ(session.run(x).item(), 1);
  EXPECT_THROW(
      {
        try {
          session.run(x);
        } catch (const FileError& e) {
          EXPECT_TRUE(std::string(e.what()).starts_with("[disk] expected a file, got none (called at queue_test.cc:"));
          throw;
        }
      },
      FileError);
}

TEST_F(QueueTest, CancellingEndsTheWaitOfARunAndOfAProducer) {
  const Queue queue("q", floats(), {.capacity = 1});
  const Tensor x = queue.dequeue()[0];
  Session session(graph);
  const auto points = session.queue(queue);
  std::thread canceller([points] { points->cancel(); });
  EXPECT_THROW(session.run(x), Cancelled);
  canceller.join();
  points->restart();
  EXPECT_TRUE(points->put({{point(3)}}));
  EXPECT_EQ(session.run(x).item(), 3);
}

TEST_F(QueueTest, AnInterruptEndsOneWaitAndOnlyAWait) {
  const Queue queue("q", floats(), {.capacity = 1});
  const Tensor x = queue.dequeue()[0];
  Session session(graph);
  const auto points = session.queue(queue);
  std::thread other([&] { session.interrupt(); });
  EXPECT_THROW(session.run(x), Cancelled);
  other.join();
  EXPECT_TRUE(points->put({{point(3)}}));
  session.interrupt();
  EXPECT_EQ(session.run(x).item(), 3);  // there was no need to wait
  EXPECT_THROW(session.run(x), Cancelled);
  session.interrupt();
  session.forget_interrupt();
  std::thread producer([&] { points->put({{point(4)}}); });
  EXPECT_EQ(session.run(x).item(), 4);
  producer.join();
}

TEST_F(QueueTest, ASessionThatEndsLetsItsProducersGo) {
  const Queue queue("q", floats(), {.capacity = 1});
  auto session = std::make_unique<Session>(graph);
  bool refused = false;
  std::thread producer([points = session->queue(queue), &refused] {
    while (points->put({{point(1)}})) {
    }
    refused = true;
  });
  session.reset();
  producer.join();
  EXPECT_TRUE(refused);
}

TEST_F(QueueTest, SessionsHaveTheirOwnPoints) {
  const Queue queue("q", floats());
  const Tensor x = queue.dequeue()[0];
  Session one(graph), two(graph);
  one.queue(queue)->put({{point(1)}});
  two.queue(queue)->put({{point(2)}});
  EXPECT_EQ(two.run(x).item(), 2);
  EXPECT_EQ(one.run(x).item(), 1);
}

TEST_F(QueueTest, StateTravelsWithThePointThroughAStagingArea) {
  const Queue queue("q", floats());
  const StagingArea stage("stage", floats());
  const Tensor raw = queue.dequeue()[0];
  const Operation put = stage.put({raw * 2.f});
  const Tensor x = stage.get()[0];
  Session session(graph);
  const auto state = [](int i) { return std::make_shared<const int>(i); };
  for (int i = 1; i <= 4; ++i) session.queue(queue)->put({{point(static_cast<float>(i))}, state(i)});
  const auto taken = [&](const Tensor& t) { return *std::static_pointer_cast<const int>(session.taken_state(t)); };
  session.run(put);  // fills it
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(session.run({x, put})[0].item(), 2 * i);  // gets what the run before left, then puts the next
    EXPECT_EQ(taken(x), i);
    EXPECT_EQ(taken(raw), i + 1);
  }
}

TEST_F(QueueTest, NobodyWaitsAtAStagingArea) {
  const StagingArea stage("stage", floats());
  const Tensor x = stage.get()[0];
  const Operation put = stage.put({constant(point(1))}, "put");
  Session session(graph);
  EXPECT_TRUE(error_of([&] { session.run(x); })
                  .starts_with("[staging area 'stage'] expected a point from an earlier run, got none. Run "
                               "its put() before the first get() (called at queue_test.cc:"));
  session.run(put);
  EXPECT_TRUE(error_of([&] {
                session.run(put);
              }).starts_with("[QueuePut 'put'] [staging area 'stage'] expected room for a point, got 1 of 1 points"));
  EXPECT_EQ(session.run(x).item(), 1);
}

TEST_F(QueueTest, OpsCanFillAQueue) {
  const Queue queue("q", floats(), {.capacity = 2});
  const Tensor x = queue.dequeue()[0];
  const Operation enqueue = queue.enqueue({constant(point(0)) + 1.f});
  Session session(graph);
  session.run(enqueue);
  session.run(enqueue);
  EXPECT_EQ(session.run(queue.size()).item(), 2);
  EXPECT_EQ(session.run({x, enqueue})[0].item(), 1);  // takes first: there is room again
}

TEST_F(QueueTest, ARunThatCannotStartLosesNoPoint) {
  const Queue queue("q", floats()), other("other", floats());
  const Tensor a = queue.dequeue()[0], b = other.dequeue()[0], fed = placeholder(f32, {}, "fed");
  const Variable empty = var("empty", Array(1.f));
  Session session(graph);
  for (float v : {1.f, 2.f}) session.queue(queue)->put({{point(v)}});
  session.queue(other)->close();
  EXPECT_THROW(session.run(a + empty), Error);
  EXPECT_THROW(session.run(a + fed), Error);
  EXPECT_THROW(session.run(a + b), EndOfData);
  const Callable call = session.make_callable({a + empty});
  EXPECT_THROW(call(), Error);
  EXPECT_EQ(session.run(a).item(), 1);
  EXPECT_EQ(session.run(a).item(), 2);
}

TEST_F(QueueTest, AnOpThatPutsAnotherShapeIsNamed) {
  const Queue queue("q", {{"x", f32, {4}}});
  const Tensor x = placeholder(f32, {kAny}, "x");
  const Operation put = queue.enqueue({x}, "put");
  Session session(graph);
  EXPECT_TRUE(error_of([&] {
                session.run(put, {{x, Array::zeros(f32, {5})}});
              }).starts_with("[QueuePut 'put'] [queue 'q'] expected f32 [4] for component 0 ('x'), got f32 [5]."));
  session.run(put, {{x, Array::zeros(f32, {4})}});
  session.queue(queue)->close();
  EXPECT_TRUE(contains(error_of([&] { session.run(put, {{x, Array::zeros(f32, {4})}}); }),
                       "expected an open queue to put a point into, got one that is closed."));
}

TEST_F(QueueTest, StateOfAPointThatWasNotTakenDoesNotTravel) {
  const Queue queue("q", floats()), next("next", floats());
  const Tensor x = queue.dequeue()[0], y = next.dequeue()[0];
  const Operation put = next.enqueue({x});
  Session session(graph);
  session.queue(queue)->put({{point(1)}, std::make_shared<const int>(7)});
  session.run(put);
  session.run(put, {{x, point(2)}});  // fed: nothing is taken
  EXPECT_EQ(session.taken_state(x), nullptr);
  session.run(y);
  EXPECT_NE(session.taken_state(y), nullptr);
  session.run(y);
  EXPECT_EQ(session.taken_state(y), nullptr);
  EXPECT_TRUE(
      contains(error_of([&] { session.taken_state(constant(1.f)); }), "expected the result of a dequeue() or get()"));
}

TEST_F(QueueTest, AnotherThreadMayCancelWhatARunWaitsFor) {
  const Queue queue("q", floats());
  const Tensor x = queue.dequeue()[0];
  Session session(graph);
  std::thread canceller([&] { session.queue(queue)->cancel(); });
  EXPECT_THROW(session.run(x), Cancelled);
  canceller.join();
}

TEST_F(QueueTest, ExplainTakesNothing) {
  const Queue queue("q", {{"x", f32, {3}}});
  const Queue open("open", floats());
  const Tensor x = queue.dequeue()[0], y = open.dequeue("dequeue")[0];
  Session session(graph);
  EXPECT_NE(session.explain({x + 1.f}).find("instructions"), std::string::npos);
  EXPECT_NE(session.explain({y + 1.f}, {{y, point(0)}}).find("instructions"), std::string::npos);
  EXPECT_TRUE(error_of([&] { session.explain({y + 1.f}); })
                  .starts_with("[Session::explain] expected to know the shape of 'dequeue', which a run takes from a "
                               "queue, got [?]"));
}

TEST_F(QueueTest, MistakesAreNamed) {
  const Queue queue("q", {{"image", f32, {kAny, 2}}, {"label", i32, {kAny}}});
  Session session(graph);
  const auto points = session.queue(queue);
  EXPECT_EQ(error_of([&] { points->put({{Array::zeros(f32, {1, 2})}}); }),
            "[queue 'q'] expected points of 2 components, got one of 1.");
  EXPECT_EQ(error_of([&] { points->put({{Array::zeros(f32, {1, 2}), Array::zeros(f32, {1})}}); }),
            "[queue 'q'] expected i32 [?] for component 1 ('label'), got f32 [1].");
  EXPECT_NE(error_of([&] { queue.enqueue({constant(1.f)}, "put"); }).find("expected 2 components, got 1"),
            std::string::npos);
  EXPECT_NE(error_of([&] { Queue("none", floats(), {.capacity = 0}); }).find("expected a capacity of 1 or more, got 0"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              cond(constant(true), [&] { return queue.dequeue(); }, [&] { return Tensors{constant(1.f)}; });
            }).find("[queue 'q'] expected to be taken from outside cond() and while_loop(), got a take inside one"),
            std::string::npos);
}

}  // namespace
}  // namespace belfry
