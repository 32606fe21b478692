// Towers that do not wait for one another.
#include "belfry/train/async_trainer.h"

#include <gtest/gtest.h>

#include <future>

#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/list.h"
#include "belfry/dataflow/map.h"
#include "belfry/input/flow_inputs.h"
#include "belfry/input/graph_inputs.h"
#include "belfry/loop/run_op.h"
#include "belfry/nn/initializers.h"
#include "belfry/nn/layers.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "belfry/tower/tower_context.h"
#include "tests/session/session_testing.h"

namespace belfry {
namespace {

const std::vector<TensorSpec> kSignature{{"x", f32, {kAny, 3}}};
const SessionConfig kTwo{.devices = {{1}, {1}}};

Flow points(int count) {
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
const OpRegistration act_op = define_op("AsyncTestAct")
                                  .input("x")
                                  .output("y")
                                  .shape([](const ShapeContext& c) { return c.input(0); })
                                  .stateful()
                                  .not_differentiable()
                                  .kernel([](std::span<const Array> in, std::span<Array> out) {
                                    for (std::int64_t i = 0; i < in[0].elements(); ++i)
                                      out[0].set_item(i, in[0].item(i));
                                    if (in_tower_1) in_tower_1();
                                  })
                                  .doc("Does what the test wants.");

Tensor cost_with_action(const Inputs& in) {
  const bool first = get_current_tower_context().index() != 1;
  return cost_of_rows(first ? in["x"] : add_tensor(act_op, {in["x"]}));
}

struct AsyncTest : testing::Test {
  void setup(const GetCost& cost = cost_of, InputSourcePtr input = QueueInput(points(60) | batch(4))) {
    trainer.setup_graph(kSignature, std::move(input), cost, slow_sgd);
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
    trainer.setup_graph(kSignature, QueueInput(points(60) | batch(4)), cost_of,
                        [] { return momentum({.learning_rate = 0.02f}); });
    trainer.train({.session_config = {.devices = {{1}}}, .steps_per_epoch = 30, .max_epoch = 2});
    return trainer.session().value(trainer.towers().training()[0].get_variable("fc/W"));
  };
  Graph first, second;
  const GraphScope in_first(first);
  AsyncMultiDeviceTrainer async(cpu_devices(1));
  const Array one = weights(async);
  EXPECT_EQ(async.async_updates(), 60);
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
  setup(cost_of, QueueInput(points(80) | batch(4), {.infinite = false}));
  const std::string reason = trainer.train({.session_config = kTwo, .steps_per_epoch = 1'000'000, .max_epoch = 1});
  EXPECT_TRUE(contains(reason, "the end of the data")) << reason;
  EXPECT_LE(trainer.async_updates(), 20);
  EXPECT_GE(trainer.async_updates(), 19);  // one tower may have been on its way to start a run
}

TEST_F(AsyncTest, AFailureOfTheDataIsNoEnd) {
  Flow broken = points(40) | map([i = 0](DataPoint point) mutable {
                  if (++i == 30) throw std::runtime_error("a bad sector");
                  return point;
                }) |
                batch(4);
  setup(cost_of, QueueInput(std::move(broken)));
  const auto train = [&] { trainer.train({.session_config = kTwo, .steps_per_epoch = 1'000'000, .max_epoch = 1}); };
  EXPECT_TRUE(contains(error_of<std::exception>(train), "a bad sector"));
}

TEST_F(AsyncTest, TheOthersPauseBetweenEpochsAndDuringInference) {
  setup();
  const OnlinePredictor predict = trainer.get_predictor({"x"}, {"cost"}, 1);
  const Array x = Array::zeros(f32, {2, 3});
  int moved = 0;
  const auto watch = [&](Trainer& t) {
    const SessionAlone alone(t.session());
    const std::int64_t before = trainer.async_updates();
    for (int i = 0; i < 20; ++i) predict({x});
    if (trainer.async_updates() != before) ++moved;
  };
  std::int64_t at_the_end = 0;
  trainer.train({.callbacks = {CallbackFactory({.trigger_step = watch,
                                                .after_epoch = [&](Trainer&) { at_the_end = trainer.async_updates(); },
                                                .trigger_epoch =
                                                    [&](Trainer&) {
                                                      for (int i = 0; i < 50; ++i) predict({x});
                                                      if (trainer.async_updates() != at_the_end) ++moved;
                                                    }})},
                 .session_config = kTwo,
                 .steps_per_epoch = 5,
                 .max_epoch = 4});
  EXPECT_EQ(moved, 0);
}

// A tower may wait for a point, or hold one, whenever the input is told to read again.
TEST_F(AsyncTest, AnInputThatIsRefilledResetOrRestoredDisturbsNoTower) {
  const auto input = std::make_shared<QueueInput>(points(60) | batch(4), QueueInputOptions{.capacity = 1});
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
  EXPECT_TRUE(contains(error_of([&] { setup(cost_of, StagingInput(QueueInput(points(8) | batch(4)))); }),
                       "[AsyncMultiDeviceTrainer] expected an input from which each tower takes its points by itself, "
                       "got a StagingInput"));
  AsyncMultiDeviceTrainer other(cpu_devices(2));
  EXPECT_TRUE(
      contains(error_of([&] { other.setup_graph(kSignature, FeedInput(points(8) | batch(4)), cost_of, slow_sgd); }),
               "[FeedInput] expected one tower, got a second one"));
}

}  // namespace
}  // namespace belfry
