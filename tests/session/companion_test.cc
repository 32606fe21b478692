// Sessions that share variables and queues, and run at the same time.
#include <atomic>
#include <cmath>
#include <future>
#include <thread>

#include "belfry/engine/cpu/kernel/kernel.h"
#include "belfry/nn/adaptive_optimizers.h"
#include "belfry/nn/layers.h"
#include "belfry/nn/optimizer.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/queue.h"
#include "belfry/ops/random.h"
#include "belfry/ops/reduce.h"
#include "belfry/tower/tower_context.h"
#include "tests/session/session_testing.h"

namespace belfry {
namespace {

using testing_support::GraphTest;

// Gives its input on, but not before it is told to.
struct Barrier {
  std::promise<void> reached, go;
  std::shared_future<void> may_go = go.get_future().share();
};
std::atomic<Barrier*> barrier = nullptr;

const OpRegistration wait_op = testing_support::define_acting_op("CompanionTestWait", [] {
  if (Barrier* at = barrier.exchange(nullptr)) {
    at->reached.set_value();
    at->may_go.wait();
  }
});

// A kernel that does something when its plan leaves the session's cache: the last thing of a call's preparation, after
// the call's own plan is made and before it runs.
std::function<void()> when_evicted;
struct LeavingKernel final : Kernel {
  ~LeavingKernel() override {
    if (const auto act = std::exchange(when_evicted, nullptr)) act();
  }
  void bind(const Buffers&) override {}
  void run(const Step&) override {}
};
const OpRegistration leaving_op = define_op("CompanionTestLeaving")
                                      .input("x")
                                      .output("y")
                                      .shape([](const ShapeContext& c) { return c.input(0); })
                                      .stateful()
                                      .not_differentiable()
                                      .doc("Acts when it goes.");
const KernelRegistration leaving_kernel =
    define_kernel("CompanionTestLeaving").make([](const KernelContext&) { return std::make_unique<LeavingKernel>(); });

class CompanionTest : public GraphTest {
 protected:
  Session& start() {
    session.initialize();
    return session;
  }
  Session session{graph, {.devices = {{1}}}};
};

TEST_F(CompanionTest, SharesVariables) {
  const Variable w = var("w", Array(1.f));
  const Tensor twice = w * 2.f;
  const Operation add(w.assign_add(3.f));
  start();
  EXPECT_EQ(session.run(twice).item(), 2);
  const auto other = session.companion();
  EXPECT_EQ(other->run(twice).item(), 2);
  other->run(add);
  EXPECT_EQ(session.run(twice).item(), 8);
  EXPECT_EQ(session.value(w).item(), 4);
  session.set_value(w, Array(10.f));
  EXPECT_EQ(other->run(twice).item(), 20);
  EXPECT_EQ(other->value(w).item(), 10);
}

TEST_F(CompanionTest, ARunComputesWithTheStartAndUpdatesWhatIsThereThen) {
  const Variable w = var("w", Array(1.f));
  const Operation slow(w.assign_add(add_tensor(wait_op, {w * 10.f})));
  const Operation fast(w.assign_add(100.f));
  start();
  const auto other = session.companion();
  Barrier here;
  barrier = &here;
  std::thread thread([&] { other->run(slow); });
  here.reached.get_future().wait();
  session.run(fast);
  here.go.set_value();
  thread.join();
  EXPECT_EQ(session.value(w).item(), 1 + 100 + 10);
}

TEST_F(CompanionTest, WhatComesBehindAnUpdateOfTheSameRunSeesIt) {
  const Variable w = var("w", Array(1.f));
  const Tensor added = w.assign_add(2.f);
  Tensor behind;
  {
    const ControlDependencies after({Operation(added)});
    behind = w.read();
  }
  const Tensor from_result = added * 10.f, before = w + 0.5f;
  start();
  const auto other = session.companion();
  const std::vector<Array> values = other->run({behind, from_result, before});
  EXPECT_EQ(values[0].item(), 3);
  EXPECT_EQ(values[1].item(), 30);
  EXPECT_EQ(values[2].item(), 1.5);
}

TEST_F(CompanionTest, NoUpdateIsLostAndNoVariableIsTorn) {
  constexpr int kThreads = 3, kRuns = 200;
  const Variable count = var("count", Array(std::int64_t{0})), w = var("w", Array::zeros(f32, {20000}));
  const Tensor seen = w + 0.f, ones = constant(Array::full(f32, {20000}, 1));
  const Tensor spread = reduce_max(seen) - reduce_min(seen);
  const std::vector<Fetch> step{Operation(count.assign_add(1)), Operation(w.assign_add(ones)), spread};
  start();
  std::vector<std::unique_ptr<Session>> sessions;
  for (int t = 0; t < kThreads; ++t) sessions.push_back(session.companion());
  std::atomic<int> torn = 0;
  std::vector<std::thread> threads;
  for (const auto& own : sessions)
    threads.emplace_back([&] {
      for (int i = 0; i < kRuns; ++i)
        if (own->run(step)[2].item() != 0) ++torn;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(session.value(count).item(), kThreads * kRuns);
  EXPECT_EQ(session.value(w).item(19999), kThreads * kRuns);
}

// Weights in blocked layouts, slots, batch norm's averages: bit for bit as in a separate session.
TEST_F(CompanionTest, TrainsAsASessionOfItsOwnDoes) {
  const Tensor x = placeholder({"x", f32, {kAny, 12, 12, 3}});
  Operation train;
  {
    const TrainTowerContext tower("");
    const Tensor y = x | conv2d("c1", {.filters = 16, .kernel = 3}) | batch_norm("bn") | relu |
                     conv2d("c2", {.filters = 32, .kernel = 3, .strides = 2}) | relu |
                     fully_connected("fc", {.units = 4});
    train = adam({.learning_rate = 0.01f})->minimize(reduce_mean(square(y)));
  }
  Array images = Array::zeros(f32, {4, 12, 12, 3});
  for (std::int64_t i = 0; i < images.elements(); ++i) images.set_item(i, static_cast<double>(i * 37 % 101) / 50 - 1);
  Session alone(graph, {.devices = {{1}}});
  alone.initialize();
  start();
  session.run(train, {{x, images}});  // plans and layouts from before
  alone.run(train, {{x, images}});
  const auto other = session.companion();
  for (int i = 0; i < 5; ++i) {
    alone.run(train, {{x, images}});
    (i % 2 == 0 ? *other : session).run(train, {{x, images}});
  }
  for (const Variable& v : graph.variables()) EXPECT_TRUE(equal(alone.value(v), session.value(v))) << v.name();
}

TEST_F(CompanionTest, ARunOnSeveralDevicesIsAloneAndRight) {
  Session two(graph, {.devices = {{1}, {1}}});
  const Variable w = var("w", Array(1.f));
  Tensor far;
  {
    const DeviceScope device("cpu:1");
    far = w * 3.f;
  }
  const Tensor sum = far + w;
  const Operation add(w.assign_add(1.f));
  two.initialize();
  const auto other = two.companion(1);
  std::thread thread([&] {
    for (int i = 0; i < 100; ++i) other->run(add);
  });
  for (int i = 0; i < 50; ++i) {
    const double value = two.run(sum).item();
    EXPECT_EQ(std::fmod(value, 4), 0);  // 3 w + w of one and the same w
  }
  thread.join();
  EXPECT_EQ(two.run(sum).item(), 404);
}

TEST_F(CompanionTest, WhatARunOnSeveralDevicesWritesTheOthersRead) {
  Session two(graph, {.devices = {{1}, {1}}});
  const Variable w = var("w", Array(1.f));
  Tensor far;
  {
    const DeviceScope device("cpu:1");
    far = constant(Array(2.f)) + random_uniform({}, {.low = 0, .high = 1e-9});
  }
  const Operation write(w.assign(far + 3.f));
  const Tensor twice = w * 2.f;
  two.initialize();
  const auto other = two.companion();
  EXPECT_EQ(other->run(twice).item(), 2);
  two.run(write);
  EXPECT_NEAR(other->run(twice).item(), 10, 1e-5);
}

TEST_F(CompanionTest, WhileOneIsAloneTheOthersWait) {
  const Variable w = var("w", Array(0.f));
  const Operation add(w.assign_add(1.f));
  start();
  const auto other = session.companion();
  other->run(add);
  std::thread thread;
  {
    const SessionAlone alone(session);
    thread = std::thread([&] { other->run(add); });
    for (int i = 0; i < 100; ++i) session.run(add);
    EXPECT_EQ(session.value(w).item(), 101);
  }
  thread.join();
  EXPECT_EQ(session.value(w).item(), 102);
}

TEST_F(CompanionTest, WhileCompanionsRestTheSessionIsFreeForAnyThread) {
  const Variable w = var("w", Array(0.f));
  const Operation add(w.assign_add(1.f)), late(w.assign(add_tensor(wait_op, {w * 100.f})));
  start();
  const auto other = session.companion();
  std::thread resting;
  {
    const CompanionsRest rest(session);
    resting = std::thread([&] { other->run(late); });
    std::thread user([&] {
      const SessionAlone alone(session);
      session.run(add);
      session.set_value(w, Array(static_cast<float>(session.value(w).item()) + 4.f));
    });
    user.join();
    EXPECT_EQ(session.value(w).item(), 5);
  }
  resting.join();
  EXPECT_EQ(session.value(w).item(), 500);
}

// Whether the wait has begun or not.
TEST_F(CompanionTest, CancelEndsEveryWaitForATurn) {
  const Variable w = var("w", Array(7.f));
  const Tensor twice = w * 2.f;
  start();
  const auto other = session.companion();
  const auto error = [&](const std::function<void()>& act) {
    const SessionAlone alone(session);
    std::string text;
    std::thread thread([&] { text = error_of<Cancelled>(act); });
    other->cancel();
    thread.join();
    return text;
  };
  EXPECT_TRUE(contains(error([&] { (void)other->value(w); }),
                       "[Session::value] expected a session that may run, got one that was cancelled (called at"));
  EXPECT_TRUE(
      contains(error([&] { other->set_value(w, Array(1.f)); }), "[Session::set_value] expected a session that"));
  EXPECT_TRUE(contains(error([&] { const SessionAlone too(*other); }), "[SessionAlone] expected a session that may"));
  EXPECT_TRUE(contains(error([&] { other->run(twice); }), "[Session::run] expected a session that may run"));
  EXPECT_EQ(other->value(w).item(), 7) << "where there is no wait";
}

TEST_F(CompanionTest, TakesFromTheSameQueueAndIsCancelledWhileItWaits) {
  const Queue queue("points", {{"x", f32, {}}}, {.capacity = 3});
  const Tensor x = queue.dequeue()[0], twice = constant(Array(1.f)) * 2.f;
  start();
  const auto other = session.companion();
  const auto points = session.queue(queue);
  points->put({{Array(1.f)}});
  points->put({{Array(2.f)}});
  EXPECT_EQ(other->run(x).item(), 1);
  EXPECT_EQ(session.run(x).item(), 2);
  std::string error;
  std::thread thread([&] { error = error_of<Cancelled>([&] { other->run(x); }); });
  other->cancel();
  thread.join();
  EXPECT_TRUE(contains(error, "cancelled")) << error;
  points->put({{Array(3.f)}});
  EXPECT_EQ(session.run(x).item(), 3);  // nobody else is
  EXPECT_TRUE(contains(error_of([&] { other->run(twice); }), "got one that was cancelled (called at"));
}

// The layout changes between a call's preparation and its run, so that the run needs another plan.
TEST_F(CompanionTest, ACallableWhosePlanIsOutdatedMeanwhileKeepsItsResults) {
  const Tensor image = constant(Array::full(f32, {2, 8, 8, 3}, 1));
  Operation train;
  {
    const TrainTowerContext tower("");
    train =
        sgd({.learning_rate = 0.1f})->minimize(reduce_mean(square(image | conv2d("c", {.filters = 16, .kernel = 3}))));
  }
  const Tensor x = placeholder({"x", f32, {kAny}}), twice = x * 2.f, leaving = add_tensor(leaving_op, {twice});
  Session small(graph, {.devices = {{1}}, .plan_cache = 1});
  small.initialize();
  const auto other = small.companion();
  const Array five = Array::full(f32, {5}, 3);
  small.run(leaving, {{x, five}});
  int trained = 0;
  when_evicted = [&] {
    other->run(train);
    ++trained;
  };
  const Callable call = small.make_callable({twice}, {x});
  const std::span<const Array> results = call(std::vector<Array>{five});
  EXPECT_EQ(trained, 1);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].item(4), 6);
  const void* where = results[0].raw();
  EXPECT_EQ(call(std::vector<Array>{Array::full(f32, {5}, 4)})[0].raw(), where);
  EXPECT_EQ(results[0].item(4), 8);
}

TEST_F(CompanionTest, ADeviceThatIsNotThereIsAnError) {
  start();
  EXPECT_TRUE(contains(error_of([&] { (void)session.companion(1); }),
                       "[Session::companion] expected a device of the session (cpu:0), got cpu:1"));
}

}  // namespace
}  // namespace belfry
