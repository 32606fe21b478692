// Towers that do not wait for one another.
#include "belfry/train/async_trainer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "belfry/callbacks/inference_runner.h"
#include "belfry/callbacks/model_saver.h"
#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/sources/list.h"
#include "belfry/input/flow_inputs.h"
#include "belfry/input/graph_inputs.h"
#include "belfry/loop/run_op.h"
#include "belfry/loop/triggers.h"
#include "belfry/nn/accumulate_gradients.h"
#include "belfry/nn/ema_of_weights.h"
#include "belfry/nn/initializers.h"
#include "belfry/nn/layers.h"
#include "belfry/nn/lookahead.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/queue.h"
#include "belfry/ops/reduce.h"
#include "belfry/tower/tower_context.h"
#include "tests/session/session_testing.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

const std::vector<TensorSpec> kRowSignature{{"x", f32, {kAny, 3}}};
const SessionConfig kTwo{.devices = {{1}, {1}}};

Flow row_points(int count) {
  std::vector<DataPoint> out;
  for (int i = 0; i < count; ++i) out.push_back({Array::of<float>({3}, {float(i % 3), float(i % 5), 1.f})});
  return from_list(std::move(out));
}

Tensor cost_of_rows(const Tensor& x) {
  const Tensor wanted = reduce_sum(x, {.axes = {1}}) * 0.5f;
  const Tensor y = reshape(x | fully_connected("fc", {.units = 1}), {kAny});
  return reduce_mean(square(y - wanted), "cost");
}
Tensor cost_of(const Inputs& in) { return cost_of_rows(in["x"]); }

std::unique_ptr<Optimizer> slow_sgd() { return sgd({.learning_rate = 0.02f}); }

// What happens inside tower 1's run.
std::function<void()> in_tower_1;
const OpRegistration act_op = testing_support::define_acting_op("AsyncTestAct", [] {
  if (in_tower_1) in_tower_1();
});

Tensor cost_with_action(const Inputs& in) {
  const bool first = get_current_tower_context().index() != 1;
  return cost_of_rows(first ? in["x"] : add_tensor(act_op, {in["x"]}));
}

struct AsyncTest : testing::Test {
  void setup(const GetCost& cost = cost_of, InputSourcePtr input = QueueInput(row_points(60) | batch(4))) {
    trainer.setup_graph(kRowSignature, std::move(input), cost, slow_sgd);
  }
  void TearDown() override { in_tower_1 = nullptr; }
  Graph graph;
  GraphScope scope{graph};
  AsyncMultiDeviceTrainer trainer{cpu_devices(2)};
};

TEST_F(AsyncTest, AllTowersTrainAndTheFirstCounts) {
  std::promise<void> trains;
  int runs = 0;
  in_tower_1 = [&] {
    if (++runs == 2) trains.set_value();
  };
  setup(cost_with_action);
  double first = 0, last = 0;
  const auto measure = [](double& cost) {
    return [&cost](Trainer& t) { cost = t.session().run("tower0/cost").item(); };
  };
  trainer.train({.callbacks = {CallbackFactory({.before_train = measure(first),
                                                .before_epoch =
                                                    [&](Trainer& t) {
                                                      if (t.epoch_num() == 2) trains.get_future().wait();
                                                    },
                                                .trigger_epoch = measure(last)})},
                 .session_config = kTwo,
                 .steps_per_epoch = 200,
                 .max_epoch = 2});
  EXPECT_LT(last, first / 10);
  EXPECT_EQ(trainer.global_step(), 400);
  EXPECT_GT(trainer.async_updates(), 400);
  EXPECT_EQ(trainer.monitors().latest("async_updates"), static_cast<double>(trainer.async_updates()));
}

TEST_F(AsyncTest, OneTowerIsTheSimpleTrainer) {
  const auto weights = [](SingleCostTrainer& trainer) {
    trainer.setup_graph(kRowSignature, QueueInput(row_points(60) | batch(4)), cost_of,
                        [] { return momentum({.learning_rate = 0.02f}); });
    trainer.train({.session_config = {.devices = {{1}}}, .steps_per_epoch = 30, .max_epoch = 2});
    return trainer.session().value(trainer.towers().training()[0].get_variable("fc/W"));
  };
  Graph first, second;
  const GraphScope in_first(first);
  AsyncMultiDeviceTrainer async(cpu_devices(1));
  const Array one = weights(async);
  EXPECT_EQ(async.async_updates(), 60);
  EXPECT_EQ(async.tower_steps(), 60);
  const GraphScope in_second(second);
  SimpleTrainer simple;
  EXPECT_TRUE(equal(one, weights(simple)));
}

TEST_F(AsyncTest, ASlowTowerDoesNotSlowTheOthers) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  in_tower_1 = [&] { released.wait(); };
  setup(cost_with_action);
  std::int64_t others = -1;
  trainer.train({.callbacks = {CallbackFactory({.trigger_step =
                                                    [&](Trainer& t) {
                                                      if (t.local_step() != 99) return;
                                                      others = trainer.async_updates() - 100;
                                                      release.set_value();
                                                    }})},
                 .session_config = kTwo,
                 .steps_per_epoch = 100,
                 .max_epoch = 1});
  EXPECT_EQ(others, 0);  // tower 1 was in its first step all the time
  EXPECT_EQ(trainer.global_step(), 100);
}

TEST_F(AsyncTest, AnErrorInATowersThreadReachesTheCaller) {
  in_tower_1 = [] { throw std::runtime_error("the tower fell"); };
  setup(cost_with_action);
  bool ended = false;
  const auto train = [&] {
    trainer.train({.callbacks = {CallbackFactory({.after_train = [&](Trainer&) { ended = true; }})},
                   .session_config = kTwo,
                   .steps_per_epoch = 1'000'000,
                   .max_epoch = 1});
  };
  EXPECT_TRUE(contains(error_of<std::exception>(train), "the tower fell"));
  EXPECT_TRUE(ended);
}

// A trainer of one's own; its first tower waits for a point that comes only when the steps have ended.
class WaitingTrainer final : public TowerTrainer {
 public:
  WaitingTrainer() : TowerTrainer(cpu_devices(2)) {
    const InputSourcePtr input =
        QueueInput(row_points(4) | map([come = release_.get_future().share()](DataPoint point) {
                     come.wait();
                     return point;
                   }));
    register_callbacks(input->setup({{"x", f32, {3}}}));
    train_op = towers_.step(Operation(input->get_input_tensors()[0]), "first");
    const Variable w = new_variable("w", {.shape = {}});
    towers_.add(towers_.step(Operation(w.assign(add_tensor(act_op, {constant(Array(1.f))}))), "second"), 1);
    register_callback(towers_.callback());
  }
  void run_step() override {
    towers_.check();
    TowerTrainer::run_step();
  }

 protected:
  void end_steps() override {
    release_.set_value();
    towers_.stop();
  }

 private:
  std::promise<void> release_;
  AsyncTowers towers_;
};

TEST(AsyncTowersTest, AnErrorReachesACallerThatWaitsForData) {
  Graph graph;
  const GraphScope scope(graph);
  in_tower_1 = [] { throw std::runtime_error("the tower fell"); };
  WaitingTrainer trainer;
  const auto train = [&] { trainer.train({.session_config = kTwo, .steps_per_epoch = 1, .max_epoch = 1}); };
  EXPECT_TRUE(contains(error_of<std::exception>(train), "the tower fell"));
  in_tower_1 = nullptr;
}

// One of the towers, the trainer's own or the other, takes a point, and a stop comes instead.
class StoppedTower final : public TowerTrainer {
 public:
  explicit StoppedTower(int taker) : TowerTrainer(cpu_devices(2)) {
    const Queue queue("points", {{"x", f32, {}}}, {.capacity = 1});
    const Operation take(queue.dequeue()[0]), other(new_variable("w", {.shape = {}}).assign_add(1.f));
    train_op = towers_.step(taker == 0 ? take : other, "first");
    towers_.add(towers_.step(taker == 1 ? take : other, "second"), 1);
    register_callback(CallbackFactory({.before_train = [queue](Trainer& t) {
      t.session().queue(queue)->close(std::make_exception_ptr(StopTraining("seen enough")));
    }}));
    register_callback(towers_.callback());
  }
  void run_step() override {
    towers_.check();
    TowerTrainer::run_step();
  }

 protected:
  void end_steps() override { EXPECT_NO_THROW(towers_.stop()); }

 private:
  AsyncTowers towers_;
};

TEST(AsyncTowersTest, AStopIsACleanEndWhicheverTowerMeetsIt) {
  for (const int taker : {0, 1}) {
    Graph graph;
    const GraphScope scope(graph);
    StoppedTower trainer(taker);
    EXPECT_EQ(trainer.train({.session_config = kTwo, .steps_per_epoch = 1'000'000'000, .max_epoch = 1}), "seen enough")
        << "tower " << taker;
  }
}

TEST_F(AsyncTest, WhatIsNoStdExceptionReachesTheCallerToo) {
  in_tower_1 = [] { throw 42; };
  setup(cost_with_action);
  EXPECT_THROW(trainer.train({.session_config = kTwo, .steps_per_epoch = 1'000'000, .max_epoch = 1}), int);
}

// Sets a flag when the thread that it belongs to has ended.
struct AtThreadEnd {
  ~AtThreadEnd() {
    if (flag != nullptr) *flag = true;
  }
  std::atomic<bool>* flag = nullptr;
};

TEST_F(AsyncTest, AStopEndsAllTowers) {
  std::promise<void> trains;
  std::atomic<bool> ended = false;
  int runs = 0;
  in_tower_1 = [&] {
    thread_local AtThreadEnd end;
    end.flag = &ended;
    if (++runs == 1) trains.set_value();
  };
  setup(cost_with_action, DummyConstantInput({{4, 3}}));  // no end of the data that could end it instead
  const auto stop = [&](Trainer& t) {
    if (t.local_step() != 3) return;
    trains.get_future().wait();
    throw StopTraining("tired");
  };
  const std::string reason = trainer.train({.callbacks = {CallbackFactory({.trigger_step = stop})},
                                            .session_config = kTwo,
                                            .steps_per_epoch = 10,
                                            .max_epoch = 1});
  EXPECT_EQ(reason, "tired");
  ASSERT_TRUE(ended);  // tower 1 runs no more
  EXPECT_EQ(trainer.global_step(), 4);
  EXPECT_EQ(trainer.async_updates(), 4 + runs);
}

TEST_F(AsyncTest, AnErrorInACallbackEndsAllTowers) {
  setup();
  const auto train = [&] {
    trainer.train({.callbacks = {CallbackFactory({.trigger_step = [](Trainer&) { throw Error("enough"); }})},
                   .session_config = kTwo,
                   .steps_per_epoch = 10,
                   .max_epoch = 1});
  };
  EXPECT_EQ(error_of(train), "enough");
}

TEST_F(AsyncTest, TheEndOfTheDataInAnyTowerIsACleanEnd) {
  setup(cost_of, QueueInput(row_points(80) | batch(4), {.infinite = false}));
  const std::string reason = trainer.train({.session_config = kTwo, .steps_per_epoch = 1'000'000, .max_epoch = 1});
  EXPECT_TRUE(contains(reason, "the end of the data")) << reason;
  EXPECT_LE(trainer.async_updates(), 20);
  EXPECT_GE(trainer.async_updates(), 19);  // one tower may have been on its way to start a run
}

TEST_F(AsyncTest, AFailureOfTheDataIsNoEnd) {
  Flow broken = row_points(40) | map([i = 0](DataPoint point) mutable {
                  if (++i == 30) throw std::runtime_error("a bad sector");
                  return point;
                }) |
                batch(4);
  setup(cost_of, QueueInput(std::move(broken)));
  const auto train = [&] { trainer.train({.session_config = kTwo, .steps_per_epoch = 1'000'000, .max_epoch = 1}); };
  EXPECT_TRUE(contains(error_of<std::exception>(train), "a bad sector"));
}

// Counts a tower's runs that are going on, and looks whether one is while something else happens.
class PauseTest : public AsyncTest {
 protected:
  // While tower 1 trains, at the end of step 3 of each epoch.
  void train(const std::function<void(Trainer&)>& act, Callbacks others = {}) {
    std::promise<void> runs;
    in_tower_1 = [&, first = true]() mutable {
      if (std::exchange(first, false)) runs.set_value();
      inside_ = true;
      for (int i = 0; i < 50; ++i) std::this_thread::yield();
      inside_ = false;
    };
    const auto step = [&](Trainer& t) {
      if (t.epoch_num() == 1 && t.local_step() == 2) runs.get_future().wait();
      if (t.local_step() >= 3) act(t);
    };
    others.insert(others.begin(), CallbackFactory({.trigger_step = step}));
    trainer.train({.callbacks = others, .session_config = kTwo, .steps_per_epoch = 12, .max_epoch = 3});
  }
  void look() { seen_ += inside_; }

  std::atomic<bool> inside_ = false;
  int seen_ = 0;
};

// A part of the inference tower that looks.
std::function<void()> in_inference;
const OpRegistration look_op = testing_support::define_acting_op("AsyncTestLook", [] {
  if (in_inference) in_inference();
});

Tensor cost_with_look(const Inputs& in) {
  if (get_current_tower_context().is_training()) return cost_with_action(in);
  const Tensor x = add_tensor(look_op, {in["x"]}, {.name = "looked"});
  return cost_of_rows(x);
}

TEST_F(PauseTest, APredictorRunsWhileNoTowerDoes) {
  setup(cost_with_look);
  in_inference = [&] { look(); };
  const OnlinePredictor predict = trainer.get_predictor({"x"}, {"cost"}, 1);
  train([&](Trainer&) { predict({Array::zeros(f32, {2, 3})}); });
  in_inference = nullptr;
  EXPECT_EQ(seen_, 0);
}

TEST_F(PauseTest, InferenceAndCheckpointsRunWhileNoTowerDoes) {
  setup(cost_with_look);
  in_inference = [&] { look(); };
  std::vector<std::int64_t> updates;
  const auto count = [&](Trainer&) { updates.push_back(trainer.async_updates()); };
  const testing_support::TempDir directory;
  train([](Trainer&) {},
        {PeriodicTrigger(
             InferenceRunner(FeedInput(row_points(12) | batch(4), {.infinite = false}), {ScalarStats("cost")}),
             {.every_k_steps = 4}),
         ModelSaver({.directory = directory.path()}), CallbackFactory({.after_epoch = count, .trigger_epoch = count})});
  in_inference = nullptr;
  EXPECT_EQ(seen_, 0);
  ASSERT_EQ(updates.size(), 6U);
  for (std::size_t i = 0; i < 6; i += 2) EXPECT_EQ(updates[i], updates[i + 1]);  // no tower trains between the epochs
}

// As with any other trainer: a thread that takes turns with the training's may use the session.
TEST_F(AsyncTest, BetweenEpochsACallbackMayWaitForAThreadThatPredicts) {
  setup();
  const OnlinePredictor predict = trainer.get_predictor({"x"}, {"cost"}, 0);
  int predicted = 0;
  const auto elsewhere = [&](Trainer& t) {
    std::thread thread([&] {
      predict({Array::zeros(f32, {2, 3})});
      (void)t.session().value(trainer.towers().training()[0].get_variable("fc/W"));
      ++predicted;
    });
    thread.join();
  };
  trainer.train({.callbacks = {CallbackFactory({.after_epoch = elsewhere, .trigger_epoch = elsewhere})},
                 .session_config = kTwo,
                 .steps_per_epoch = 5,
                 .max_epoch = 3});
  EXPECT_EQ(predicted, 6);
}

// A tower may wait for a point, or hold one, whenever the input is told to read again.
TEST_F(AsyncTest, AnInputThatIsRefilledResetOrRestoredDisturbsNoTower) {
  const auto input = std::make_shared<QueueInput>(row_points(60) | batch(4), QueueInputOptions{.capacity = 1});
  setup(cost_of, InputSourcePtr(input));
  const auto again = [&](Trainer& t) {
    input->refill_queue();
    input->reset_state();
    t.callbacks()[0]->restore(t.callbacks()[0]->state());
  };
  EXPECT_EQ(trainer.train({.callbacks = {CallbackFactory({.trigger_step = again, .after_epoch = again})},
                           .session_config = kTwo,
                           .steps_per_epoch = 20,
                           .max_epoch = 5}),
            "finished epoch 5");
}

TEST_F(AsyncTest, GradientsAreScaledByTheTowersUnlessToldOtherwise) {
  const auto first_step = [](AsyncOptions options) {
    Graph graph;
    const GraphScope scope(graph);
    AsyncMultiDeviceTrainer trainer(cpu_devices(2), options);
    trainer.setup_graph(
        {{"x", f32, {}}}, DummyConstantInput(),
        [](const Inputs& in) {
          const Variable w = get_variable("w", {.shape = {}, .initializer = init::zeros()});
          const Tensor cost = w * 8.f + in["x"] * 0.f;
          return cost;
        },
        [] { return sgd({.learning_rate = 1.f}); });
    trainer.train({.session_config = kTwo, .steps_per_epoch = 3, .max_epoch = 1});
    const Variable w = trainer.towers().training()[0].get_variable("w");
    return trainer.session().value(w).item() / static_cast<double>(trainer.async_updates());
  };
  EXPECT_EQ(first_step({}), -4);
  EXPECT_EQ(first_step({.scale_gradients = false}), -8);
}

TEST_F(AsyncTest, EachTowerRunsItsOwnUpdateOps) {
  std::vector<Variable> counts;
  setup([&](const Inputs& in) {
    const Tensor cost = cost_of(in);
    const Variable count = new_variable("count", {.shape = {}, .initializer = init::zeros()});
    current_graph().collections().add(collection::kUpdateOps, Operation(count.assign_add(1.f + cost * 0.f)));
    if (count.node()->graph == &graph) counts.push_back(count);
    return cost;
  });
  trainer.train({.callbacks = {RunUpdateOps()}, .session_config = kTwo, .steps_per_epoch = 20, .max_epoch = 2});
  ASSERT_EQ(counts.size(), 2U);
  EXPECT_EQ(trainer.session().value(counts[0]).item(), 40);
  EXPECT_EQ(trainer.session().value(counts[1]).item(), static_cast<double>(trainer.async_updates() - 40));
}

TEST_F(AsyncTest, BatchNormCannotWaitForOtherTowers) {
  const auto build = [&] {
    setup([](const Inputs& in) { return reduce_mean(in["x"] | batch_norm("bn", {.sync_statistics = true})); });
  };
  EXPECT_TRUE(contains(error_of(build), "sync_statistics"));
}

TEST_F(AsyncTest, InputsThatCannotFeedSeveralTowersAreErrors) {
  EXPECT_TRUE(contains(error_of([&] { setup(cost_of, StagingInput(QueueInput(row_points(8) | batch(4)))); }),
                       "[AsyncMultiDeviceTrainer] expected an input from which each tower takes its points by itself, "
                       "got a StagingInput"));
  AsyncMultiDeviceTrainer hidden(cpu_devices(2));  // behind another one
  const InputSourcePtr staged = StagingInput(QueueInput(row_points(8) | batch(4), {.name = "staged_queue"}));
  EXPECT_TRUE(contains(error_of([&] {
                         hidden.setup_graph(kRowSignature, remap_input(staged, {kRowSignature[0].name}), cost_of,
                                            slow_sgd);
                       }),
                       "got a StagingInput"));
  AsyncMultiDeviceTrainer other(cpu_devices(2));
  EXPECT_TRUE(contains(
      error_of([&] { other.setup_graph(kRowSignature, FeedInput(row_points(8) | batch(4)), cost_of, slow_sgd); }),
      "[FeedInput] expected one tower, got a second one"));
}

TEST_F(AsyncTest, OptimizersThatGatherStepsAreErrors) {
  const auto error = [&](const GetOptimizer& optimizer) {
    return error_of(
        [&] { trainer.setup_graph(kRowSignature, QueueInput(row_points(8) | batch(4)), cost_of, optimizer); });
  };
  EXPECT_TRUE(contains(error([] { return accumulate_gradients(slow_sgd(), 4); }),
                       "[AsyncMultiDeviceTrainer] expected an optimizer that updates in every step, got "
                       "accumulate_gradients, whose count and sums the towers would overwrite for one another. Remove "
                       "it, or use a synchronous trainer."));
  EXPECT_TRUE(contains(error([] { return ema_of_weights(lookahead(slow_sgd())); }), "got lookahead, whose count"));
  EXPECT_EQ(error([] { return ema_of_weights(slow_sgd()); }), "no error");
}

}  // namespace
}  // namespace belfry
