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

Tensor cost_of(const Inputs& in) {
  const Tensor logits =
      in["x"] | fully_connected("fc0", {.units = 8, .activation = tanh}) | fully_connected("fc1", {.units = 2});
  softmax(logits, "prob");
  return reduce_mean(sparse_softmax_cross_entropy(logits, in["label"]), "cost");
}

template <class T, class... Args>
Trained train(std::int64_t batch_size, std::int64_t steps, const GetOptimizer& optimizer, Args&&... args) {
  const Training training{
      .input = QueueInput(points(64) | batch(batch_size)), .cost = cost_of, .steps = steps, .optimizer = optimizer};
  return belfry::train<T>(training, std::forward<Args>(args)...);
}

TEST(TrainersTest, NTowersAreOneTowerWithNTimesTheBatch) {
  const Trained one = train<SimpleTrainer>(16, 20, make_momentum);
  const Trained ps = train<SyncMultiDeviceTrainerParameterServer>(8, 20, make_momentum, cpu_devices(2));
  const Trained replicated = train<SyncMultiDeviceTrainerReplicated>(8, 20, make_momentum, cpu_devices(2));
  constexpr double kRoundings = 80;  // two a term of sums of 6 and 8 numbers and over 16 points, forward and backward
  expect_close(one, ps, kRoundings);
  expect_close(one, replicated, kRoundings);
  expect_same_bits(ps, replicated);
  expect_same_bits(ps, train<SyncMultiDeviceTrainerParameterServer>(8, 20, make_momentum, cpu_devices(2)));
  expect_same_bits(replicated, train<SyncMultiDeviceTrainerReplicated>(8, 20, make_momentum, cpu_devices(2)));
}

TEST(TrainersTest, ReplicatedTowersStayBitIdentical) {
  int copies = 0;
  const Training training{.input = QueueInput(points(64) | batch(8)),
                          .cost = cost_of,
                          .optimizer = [] { return adam(); },
                          .callbacks = {after_last_step([&](Trainer& t) { copies = count_equal_copies(t); })}};
  const Trained got = belfry::train<SyncMultiDeviceTrainerReplicated>(training, cpu_devices(2));
  EXPECT_EQ(got.weights.size(), 4u);  // the copies are not collected
  EXPECT_EQ(copies, 12);              // weights, and Adam's m and v of each
}

// The README's promise: the line that makes the trainer is the only one that changes.
TEST(TrainersTest, SimpleBecomesReplicatedByOneLine) {
  EXPECT_EQ(train<SimpleTrainer>(8, 5, make_momentum).reason, "finished epoch 1");
  EXPECT_EQ(train<SyncMultiDeviceTrainerReplicated>(8, 5, make_momentum, cpu_devices(2)).reason, "finished epoch 1");
}

TEST(TrainersTest, StepsPerEpochComeFromTheData) {
  Graph graph;
  const GraphScope scope(graph);
  SimpleTrainer trainer;
  trainer.setup_graph(kSignature, QueueInput(points(64) | batch(16)), cost_of, make_momentum);
  trainer.train({.max_epoch = 2});
  EXPECT_EQ(trainer.steps_per_epoch(), 4);
  EXPECT_EQ(trainer.global_step(), 8);
}

TEST(TrainersTest, TowersMaySeeDifferentShapes) {
  std::vector<DataPoint> ragged;
  for (int n : {2, 5, 3, 4}) ragged.push_back({Array::full(f32, {n, 6}, 0.1 * n), Array::zeros(i32, {n})});
  Graph graph;
  const GraphScope scope(graph);
  SyncMultiDeviceTrainerParameterServer trainer(cpu_devices(2));
  trainer.setup_graph(kSignature, QueueInput(from_list(std::move(ragged))), cost_of, make_momentum);
  trainer.train({.session_config = {.devices = {{1}, {1}}}, .steps_per_epoch = 4, .max_epoch = 1});
  EXPECT_EQ(trainer.global_step(), 4);
}

TEST(TrainersTest, PredictorsReadTheTowerOfTheirDevice) {
  Graph graph;
  const GraphScope scope(graph);
  SyncMultiDeviceTrainerReplicated trainer(cpu_devices(2));
  trainer.setup_graph(kSignature, QueueInput(points(64) | batch(8)), cost_of, make_momentum);
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
                       "[get_predictor] expected a device from 0 to 1, got 2."));
  EXPECT_TRUE(contains(error_of([&] { first({x, x}); }), "[predictor] expected 1 inputs, got 2"));
}

TEST(TrainersTest, NoOpRunsOnlyCallbacks) {
  Graph graph;
  const GraphScope scope(graph);
  NoOpTrainer trainer;
  trainer.setup_graph(kSignature, QueueInput(points(64) | batch(8)), cost_of, make_momentum);
  const Tensor weight = graph.get_variable_by_name("fc1/W");
  Array before, after;
  trainer.train({.callbacks = {CallbackFactory({.before_train = [&](Trainer& t) { before = t.session().run(weight); },
                                                .after_train = [&](Trainer& t) { after = t.session().run(weight); }})},
                 .steps_per_epoch = 3,
                 .max_epoch = 1});
  EXPECT_TRUE(equal(before, after));
  EXPECT_EQ(trainer.global_step(), 3);
}

TEST(TrainersTest, CallbacksFindTensorsInTheMainTower) {
  Graph graph;
  const GraphScope scope(graph);
  SyncMultiDeviceTrainerParameterServer trainer(cpu_devices(2));
  trainer.setup_graph(kSignature, QueueInput(points(64) | batch(8)), cost_of, make_momentum);
  EXPECT_EQ(trainer.get_tensor("cost").name(), "tower0/cost");
  EXPECT_EQ(trainer.get_tensor("tower1/cost").name(), "tower1/cost");
  EXPECT_TRUE(contains(error_of([&] { trainer.get_tensor("cosd"); }), "cosd"));
}

TEST(TrainersTest, NamesThatCallbacksFetchAreThoseOfTheMainTower) {
  struct Costs final : Callback {
    explicit Costs(std::vector<double>& out) : seen(&out) {}
    HookRequest before_run(const RunContext&) override { return {.fetches = {"cost"}}; }
    void after_run(const RunContext&, const RunValues& values) override { seen->push_back(values[0].item()); }
    std::vector<double>* seen;
  };
  Graph graph;
  const GraphScope scope(graph);
  std::vector<double> seen;
  SyncMultiDeviceTrainerParameterServer trainer(cpu_devices(2));
  trainer.setup_graph(kSignature, QueueInput(points(64) | batch(8)), cost_of, make_momentum);
  trainer.train(
      {.callbacks = {Costs(seen)}, .session_config = {.devices = {{1}, {1}}}, .steps_per_epoch = 2, .max_epoch = 1});
  EXPECT_EQ(seen.size(), 2u);
}

TEST(TrainersTest, UpdatesAreSpreadOverTheDevices) {
  Graph graph;
  const GraphScope scope(graph);
  SyncMultiDeviceTrainerParameterServer trainer(cpu_devices(2));
  trainer.setup_graph(kSignature, QueueInput(points(64) | batch(8)), cost_of, make_momentum);
  std::set<std::string> homes;
  for (const Variable& v : graph.collections().variables(collection::kTrainableVariables))
    homes.insert(v.node()->device);
  EXPECT_EQ(homes, (std::set<std::string>{"cpu:0", "cpu:1"}));
}

TEST(TrainersTest, MistakesAreNamed) {
  Graph graph;
  const GraphScope scope(graph);
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
      error_of([&] { twice.setup_graph(kSignature, FeedInput(points(8) | batch(2)), cost_of, make_momentum); }),
      "[FeedInput] expected one tower, got a second one."));
}

TEST(TrainersTest, ACostMustDependOnSomethingToTrain) {
  Graph graph;
  const GraphScope scope(graph);
  SimpleTrainer trainer;
  const auto constant_cost = [](const Inputs& in) {
    in["x"] | fully_connected("fc", {.units = 2});
    return reduce_mean(in["x"]);
  };
  EXPECT_TRUE(
      contains(error_of([&] { trainer.setup_graph(kSignature, PlaceholderInput(), constant_cost, make_momentum); }),
               "expected a cost that depends on the variables to train, got no gradient for 'fc/W', 'fc/b'"));
}

TEST(TrainersTest, GradientsMustBeTheSameInAllTowers) {
  Graph graph;
  const GraphScope scope(graph);
  SyncMultiDeviceTrainerParameterServer trainer(cpu_devices(2));
  const auto uneven = [](const Inputs& in) {
    const Tensor a = in["x"] | fully_connected("a", {.units = 1}), b = in["x"] | fully_connected("b", {.units = 1});
    return reduce_mean(get_current_tower_context().index() == 1 ? a : a + b);
  };
  EXPECT_TRUE(contains(
      error_of([&] { trainer.setup_graph(kSignature, QueueInput(points(8) | batch(2)), uneven, make_momentum); }),
      "got some with and some without for 'b/W', 'b/b'."));
}

TEST(TrainersTest, ASessionMustHaveTheDevices) {
  Graph graph;
  const GraphScope scope(graph);
  SyncMultiDeviceTrainerReplicated trainer(cpu_devices(2));
  trainer.setup_graph(kSignature, QueueInput(points(8) | batch(2)), cost_of, make_momentum);
  EXPECT_TRUE(contains(error_of([&] { trainer.train({.session_config = {.devices = {{1}}}, .steps_per_epoch = 1}); }),
                       "[trainer] expected a session with devices cpu:0 to cpu:1, got 1"));
}

TEST(TrainersTest, CoresAreSharedByAsManyDevicesAtMost) {
  Graph graph;
  const GraphScope scope(graph);
  const int cores = hardware_threads();
  SyncMultiDeviceTrainerReplicated trainer({cores});
  trainer.setup_graph(kSignature, QueueInput(points(8) | batch(2)), cost_of, make_momentum);
  EXPECT_TRUE(contains(error_of([&] { trainer.train({.steps_per_epoch = 1}); }),
                       fmt::format("[trainer] expected devices from cpu:0 to cpu:{}, since there are {} cores to "
                                   "share, got cpu:{} (at ",
                                   cores - 1, cores, cores)));
  Graph other;
  const GraphScope other_scope(other);
  SyncMultiDeviceTrainerReplicated explicit_one({cores});
  explicit_one.setup_graph(kSignature, QueueInput(points(8) | batch(2)), cost_of, make_momentum);
  const std::vector<DeviceConfig> one_thread_each(static_cast<std::size_t>(cores) + 1, {1});
  explicit_one.train({.session_config = {.devices = one_thread_each}, .steps_per_epoch = 1, .max_epoch = 1});
  EXPECT_EQ(explicit_one.global_step(), 1);
}

TEST(TrainersTest, InferenceTowersNeedADeviceOfTheTrainers) {
  Graph graph;
  const GraphScope scope(graph);
  SyncMultiDeviceTrainerReplicated trainer(cpu_devices(2));
  trainer.setup_graph(kSignature, QueueInput(points(8) | batch(2)), cost_of, make_momentum);
  const Tensors inputs{placeholder(f32, {kAny, 6}), placeholder(i32, {kAny})};
  EXPECT_TRUE(contains(error_of([&] { trainer.build_inference_tower("look", inputs, 2); }),
                       "[build_inference_tower] expected a device from 0 to 1, got 2."));
  EXPECT_TRUE(contains(error_of([&] { trainer.build_inference_tower("look", inputs, -1); }), "got -1."));
}

}  // namespace
}  // namespace belfry
