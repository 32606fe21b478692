// Trainers of a single cost: the same model, one or several devices, the same weights.
#include "belfry/train/trainers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "belfry/base/parallel.h"
#include "belfry/input/graph_inputs.h"
#include "belfry/loop/run_op.h"
#include "belfry/nn/initializers.h"
#include "belfry/nn/layers.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "belfry/ops/softmax.h"
#include "belfry/tower/tower_context.h"
#include "belfry/train/model_desc.h"
#include "tests/session/session_testing.h"
#include "tests/support/files.h"
#include "tests/train/train_testing.h"

namespace belfry {
namespace {

Tensor trainers_cost(const Inputs& in) {
  const Tensor logits =
      in["x"] | fully_connected("fc0", {.units = 8, .activation = tanh}) | fully_connected("fc1", {.units = 2});
  softmax(logits, "prob");
  return reduce_mean(sparse_softmax_cross_entropy(logits, in["label"]), "cost");
}

template <class T, class... Args>
Trained train_momentum(std::int64_t batch_size, std::int64_t steps, const GetOptimizer& optimizer, Args&&... args) {
  const Training training{.input = QueueInput(points(64) | batch(batch_size)),
                          .cost = trainers_cost,
                          .steps = steps,
                          .optimizer = optimizer};
  return train<T>(training, std::forward<Args>(args)...);
}

std::vector<std::string> names_of(const Trained& trained) {
  std::vector<std::string> out;
  for (const auto& [name, value] : trained.weights) out.push_back(name);
  return out;
}

// The cost of all points with these weights.
double cost_after(const Trained& trained) {
  Graph graph;
  const GraphScope scope(graph);
  const PredictTowerContext tower("");
  const Tensors inputs{placeholder(f32, {kAny, 6}), placeholder(i32, {kAny})};
  const Tensor cost = trainers_cost(Inputs(kSignature, inputs));
  Session session(graph);
  for (const auto& [name, value] : trained.weights) session.set_value(graph.get_variable_by_name(name), value);
  const DataPoint all = *(points(64) | batch(64)).next();
  return session.run(cost, {{inputs[0], all[0]}, {inputs[1], all[1]}}).item();
}

class TrainersTest : public testing_support::GraphTest {
 protected:
  static void set_up(SingleCostTrainer& trainer, InputSourcePtr input = QueueInput(points(64) | batch(8))) {
    trainer.setup_graph(kSignature, std::move(input), trainers_cost, make_momentum);
  }
};

TEST_F(TrainersTest, NTowersAreOneTowerWithNTimesTheBatch) {
  const Trained one = train_momentum<SimpleTrainer>(16, 20, make_momentum);
  const Trained ps = train_momentum<SyncMultiDeviceTrainerParameterServer>(8, 20, make_momentum, cpu_devices(2));
  const Trained replicated = train_momentum<SyncMultiDeviceTrainerReplicated>(8, 20, make_momentum, cpu_devices(2));
  constexpr double kRoundings = 80;  // two a term of sums of 6 and 8 numbers and over 16 points, forward and backward
  expect_close(one, ps, kRoundings);
  expect_close(one, replicated, kRoundings);
  expect_same_bits(ps, replicated);
  expect_same_bits(ps, train_momentum<SyncMultiDeviceTrainerParameterServer>(8, 20, make_momentum, cpu_devices(2)));
  expect_same_bits(replicated, train_momentum<SyncMultiDeviceTrainerReplicated>(8, 20, make_momentum, cpu_devices(2)));
}

TEST_F(TrainersTest, ReplicatedTowersStayBitIdentical) {
  int copies = 0;
  const Training training{.input = QueueInput(points(64) | batch(8)),
                          .cost = trainers_cost,
                          .optimizer = [] { return adam(); },
                          .callbacks = {after_last_step([&](Trainer& t) { copies = count_equal_copies(t); })}};
  const Trained got = train<SyncMultiDeviceTrainerReplicated>(training, cpu_devices(2));
  EXPECT_EQ(got.weights.size(), 4u);  // the copies are not collected
  EXPECT_EQ(copies, 12);              // weights, and Adam's m and v of each
}

// The README's promise: the line that makes the trainer is the only one that changes.
TEST_F(TrainersTest, SimpleBecomesReplicatedByOneLine) {
  const Trained one = train_momentum<SimpleTrainer>(8, 5, make_momentum);
  const Trained two = train_momentum<SyncMultiDeviceTrainerReplicated>(8, 5, make_momentum, cpu_devices(2));
  EXPECT_EQ(one.reason, "finished epoch 1");
  EXPECT_EQ(two.reason, "finished epoch 1");
  // The same weights belong to the model, and from the same start each has been trained, on its own batches.
  EXPECT_EQ(names_of(one), (std::vector<std::string>{"fc0/W", "fc0/b", "fc1/W", "fc1/b"}));
  EXPECT_EQ(names_of(two), names_of(one));
  const Trained untrained = train_momentum<NoOpTrainer>(8, 5, make_momentum);
  for (const auto& [name, value] : untrained.weights) {
    EXPECT_FALSE(equal(one.weights.at(name), value)) << name;
    EXPECT_FALSE(equal(two.weights.at(name), value)) << name;
    EXPECT_FALSE(equal(one.weights.at(name), two.weights.at(name))) << name;
  }
  EXPECT_LT(cost_after(one), cost_after(untrained));
  EXPECT_LT(cost_after(two), cost_after(untrained));
}

TEST_F(TrainersTest, StepsPerEpochComeFromTheData) {
  SimpleTrainer trainer;
  set_up(trainer, QueueInput(points(64) | batch(16)));
  trainer.train({.max_epoch = 2});
  EXPECT_EQ(trainer.steps_per_epoch(), 4);
  EXPECT_EQ(trainer.global_step(), 8);
}

TEST_F(TrainersTest, TowersMaySeeDifferentShapes) {
  std::vector<DataPoint> ragged;
  for (int n : {2, 5, 3, 4}) ragged.push_back({Array::full(f32, {n, 6}, 0.1 * n), Array::zeros(i32, {n})});
  SyncMultiDeviceTrainerParameterServer trainer(cpu_devices(2));
  set_up(trainer, QueueInput(from_list(std::move(ragged))));
  trainer.train({.session_config = {.devices = {{1}, {1}}}, .steps_per_epoch = 4, .max_epoch = 1});
  EXPECT_EQ(trainer.global_step(), 4);
}

TEST_F(TrainersTest, PredictorsReadTheTowerOfTheirDevice) {
  SyncMultiDeviceTrainerReplicated trainer(cpu_devices(2));
  set_up(trainer);
  const OnlinePredictor first = trainer.get_predictor({"x"}, {"prob"});
  const OnlinePredictor second = trainer.get_predictor({"x"}, {"prob", "fc0/output"}, 1);
  const Array x = Array::full(f32, {2, 6}, 0.3);
  int compared = 0;
  const auto compare = [&](Trainer&) {
    ++compared;
    EXPECT_TRUE(equal(first({x})[0], second({x})[0]));
  };
  trainer.train({.callbacks = {after_last_step(compare)},
                 .session_config = {.devices = {{1}, {1}}},
                 .steps_per_epoch = 3,
                 .max_epoch = 1});
  EXPECT_EQ(compared, 1);
  EXPECT_EQ(second({x})[1].shape(), (Shape{2, 8}));
  trainer.session().set_value(graph.get_variable_by_name("tower1/fc1/b"), Array::of<float>({2}, {5, -5}));
  EXPECT_FALSE(equal(first({x})[0], second({x})[0]));
  EXPECT_TRUE(contains(error_of([&] { trainer.get_predictor({"x"}, {"prob"}, 2); }),
                       "[get_predictor] expected a device among cpu:0, cpu:1, got cpu:2."));
  EXPECT_TRUE(contains(error_of([&] { first({x, x}); }), "[predictor] expected 1 inputs, got 2"));
}

TEST_F(TrainersTest, NoOpRunsOnlyCallbacks) {
  NoOpTrainer trainer;
  set_up(trainer);
  const Tensor weight = graph.get_variable_by_name("fc1/W");
  Array before, after;
  trainer.train({.callbacks = {CallbackFactory({.before_train = [&](Trainer& t) { before = t.session().run(weight); },
                                                .after_train = [&](Trainer& t) { after = t.session().run(weight); }})},
                 .steps_per_epoch = 3,
                 .max_epoch = 1});
  EXPECT_TRUE(equal(before, after));
  EXPECT_EQ(trainer.global_step(), 3);
}

TEST_F(TrainersTest, CallbacksFindTensorsInTheMainTower) {
  SyncMultiDeviceTrainerParameterServer trainer(cpu_devices(2));
  set_up(trainer);
  EXPECT_EQ(trainer.get_tensor("cost").name(), "tower0/cost");
  EXPECT_EQ(trainer.get_tensor("tower1/cost").name(), "tower1/cost");
  EXPECT_TRUE(contains(error_of([&] { trainer.get_tensor("cosd"); }), "cosd"));
}

TEST_F(TrainersTest, NamesThatCallbacksFetchAreThoseOfTheMainTower) {
  struct Costs final : Callback {
    explicit Costs(std::vector<double>& out) : seen(&out) {}
    HookRequest before_run(const RunContext&) override { return {.fetches = {"cost"}}; }
    void after_run(const RunContext&, const RunValues& values) override { seen->push_back(values[0].item()); }
    std::vector<double>* seen;
  };
  std::vector<double> seen;
  SyncMultiDeviceTrainerParameterServer trainer(cpu_devices(2));
  set_up(trainer);
  trainer.train(
      {.callbacks = {Costs(seen)}, .session_config = {.devices = {{1}, {1}}}, .steps_per_epoch = 2, .max_epoch = 1});
  EXPECT_EQ(seen.size(), 2u);
}

TEST_F(TrainersTest, UpdatesAreSpreadOverTheDevices) {
  SyncMultiDeviceTrainerParameterServer trainer(cpu_devices(2));
  set_up(trainer);
  std::set<std::string> homes;
  for (const Variable& v : graph.collections().variables(collection::kTrainableVariables))
    homes.insert(v.node()->device.name());
  EXPECT_EQ(homes, (std::set<std::string>{"cpu:0", "cpu:1"}));
}

TEST_F(TrainersTest, MistakesAreNamed) {
  EXPECT_TRUE(contains(error_of([] { SyncMultiDeviceTrainerReplicated({0, 1, 0}); }),
                       "[trainer] expected each device once, got cpu:0 twice"));
  EXPECT_TRUE(contains(error_of([] { SyncMultiDeviceTrainerReplicated(Devices{}); }), "expected at least one device"));
  EXPECT_TRUE(contains(error_of([] { cpu_devices(0); }), "[cpu_devices] expected at least one device, got 0."));
  {
    SimpleTrainer trainer;
    const auto vector_cost = [](const Inputs& in) { return in["x"] | fully_connected("fc", {.units = 2}); };
    EXPECT_TRUE(
        contains(error_of([&] { trainer.setup_graph(kSignature, PlaceholderInput(), vector_cost, make_momentum); }),
                 "[setup_graph] expected a tower function that returns a scalar float as its cost, got "));
  }
  SyncMultiDeviceTrainerReplicated twice(cpu_devices(2));
  EXPECT_TRUE(contains(
      error_of([&] { twice.setup_graph(kSignature, FeedInput(points(8) | batch(2)), trainers_cost, make_momentum); }),
      "[FeedInput] expected one tower, got a second one."));
}

TEST_F(TrainersTest, ACostMustDependOnSomethingToTrain) {
  SimpleTrainer trainer;
  const auto constant_cost = [](const Inputs& in) {
    in["x"] | fully_connected("fc", {.units = 2});
    return reduce_mean(in["x"]);
  };
  EXPECT_TRUE(
      contains(error_of([&] { trainer.setup_graph(kSignature, PlaceholderInput(), constant_cost, make_momentum); }),
               "expected a cost that depends on the variables to train, got no gradient for 'fc/W', 'fc/b'"));
}

TEST_F(TrainersTest, GradientsMustBeTheSameInAllTowers) {
  SyncMultiDeviceTrainerParameterServer trainer(cpu_devices(2));
  const auto uneven = [](const Inputs& in) {
    const Tensor a = in["x"] | fully_connected("a", {.units = 1}), b = in["x"] | fully_connected("b", {.units = 1});
    return reduce_mean(get_current_tower_context().index() == 1 ? a : a + b);
  };
  EXPECT_TRUE(contains(
      error_of([&] { trainer.setup_graph(kSignature, QueueInput(points(8) | batch(2)), uneven, make_momentum); }),
      "got some with and some without for 'b/W', 'b/b'."));
}

TEST_F(TrainersTest, ASessionMustHaveTheDevices) {
  SyncMultiDeviceTrainerReplicated trainer(cpu_devices(2));
  set_up(trainer);
  EXPECT_TRUE(contains(error_of([&] { trainer.train({.session_config = {.devices = {{1}}}, .steps_per_epoch = 1}); }),
                       "[trainer] expected a session with devices cpu:0 to cpu:1, got 1"));
}

TEST_F(TrainersTest, CoresAreSharedByAsManyDevicesAtMost) {
  const int cores = hardware_threads();
  SyncMultiDeviceTrainerReplicated trainer({cores});
  set_up(trainer);
  EXPECT_TRUE(contains(error_of([&] { trainer.train({.steps_per_epoch = 1}); }),
                       fmt::format("[trainer] expected devices from cpu:0 to cpu:{}, because there are {} cores to "
                                   "share, got cpu:{} (at ",
                                   cores - 1, cores, cores)));
  Graph other;
  const GraphScope other_scope(other);
  SyncMultiDeviceTrainerReplicated explicit_one({cores});
  set_up(explicit_one);
  const std::vector<DeviceConfig> one_thread_each(static_cast<std::size_t>(cores) + 1, {1});
  explicit_one.train({.session_config = {.devices = one_thread_each}, .steps_per_epoch = 1, .max_epoch = 1});
  EXPECT_EQ(explicit_one.global_step(), 1);
}

TEST_F(TrainersTest, InferenceTowersNeedADeviceOfTheTrainers) {
  SyncMultiDeviceTrainerReplicated trainer(cpu_devices(2));
  set_up(trainer);
  const Tensors inputs{placeholder(f32, {kAny, 6}), placeholder(i32, {kAny})};
  EXPECT_TRUE(contains(error_of([&] { trainer.build_inference_tower("look", inputs, 2); }),
                       "[build_inference_tower] expected a device among cpu:0, cpu:1, got cpu:2."));
  EXPECT_TRUE(contains(error_of([&] { trainer.build_inference_tower("look", inputs, -1); }),
                       "expected a number from 0 up, got -1 (at trainers_test.cc:"));
}

}  // namespace
}  // namespace belfry
