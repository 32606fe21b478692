// Batch norm whose statistics are those of all towers together.
#include "belfry/input/graph_inputs.h"
#include "belfry/nn/layers.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/reduce.h"
#include "belfry/ops/softmax.h"
#include "belfry/tower/tower_context.h"
#include "tests/support/errors.h"
#include "tests/train/train_testing.h"

namespace belfry {
namespace {

GetCost cost_with(bool sync) {
  return [sync](const Inputs& in) {
    const auto norm = batch_norm({.sync_statistics = sync, .activation = relu});
    const Tensor x = reshape(in["x"], {kAny, 2, 3, 1}) |
                     conv2d("conv", {.filters = 20, .kernel = 3, .use_bias = false}) | norm("bn0");
    const Tensor y = x + (x | conv2d("conv1", {.filters = 20, .kernel = 3, .use_bias = false}) | norm("bn1"));
    const Tensor logits = y | fully_connected("fc0", {.units = 8, .use_bias = false}) | norm("bn2") |
                          fully_connected("fc1", {.units = 2});
    return reduce_mean(sparse_softmax_cross_entropy(logits, in["label"]), "cost");
  };
}

// A step's, two a term of each sum that a number goes through, forward and backward: of 9, 180, 120 and 8 numbers, and
// four over 16 points of 6 pixels for each batch norm.
constexpr double kRoundings = 4000;

Training on_batches_of(std::int64_t size, bool sync = true) {
  return {.input = QueueInput(points(64) | batch(size)), .cost = cost_with(sync)};
}

TEST(SyncBatchNormTest, NTowersAreOneTowerWithNTimesTheBatch) {
  const Trained one = train<SimpleTrainer>(on_batches_of(16));
  const Trained ps = train<SyncMultiDeviceTrainerParameterServer>(on_batches_of(8), cpu_devices(2));
  const Trained replicated = train<SyncMultiDeviceTrainerReplicated>(on_batches_of(8), cpu_devices(2));
  ASSERT_TRUE(one.weights.contains("bn2/mean/EMA"));
  expect_close(one, ps, kRoundings);
  expect_close(one, replicated, kRoundings);
  expect_far(one, train<SyncMultiDeviceTrainerParameterServer>(on_batches_of(8, false), cpu_devices(2)), 1e-2);
  expect_same_bits(ps, replicated);
  expect_same_bits(ps, train<SyncMultiDeviceTrainerParameterServer>(on_batches_of(8), cpu_devices(2)));
  expect_same_bits(replicated, train<SyncMultiDeviceTrainerReplicated>(on_batches_of(8), cpu_devices(2)));
}

TEST(SyncBatchNormTest, StagedPointsOfAllTowersMeetInOneStep) {
  Training staged = on_batches_of(8);
  staged.input = StagingInput(staged.input);
  expect_same_bits(train<SyncMultiDeviceTrainerReplicated>(on_batches_of(8), cpu_devices(2)),
                   train<SyncMultiDeviceTrainerReplicated>(staged, cpu_devices(2)));
}

TEST(SyncBatchNormTest, OneTowerIsTheOrdinaryOne) {
  expect_same_bits(train<SimpleTrainer>(on_batches_of(8)), train<SimpleTrainer>(on_batches_of(8, false)));
  expect_same_bits(train<SyncMultiDeviceTrainerReplicated>(on_batches_of(8), cpu_devices(1)),
                   train<SyncMultiDeviceTrainerReplicated>(on_batches_of(8, false), cpu_devices(1)));
}

TEST(SyncBatchNormTest, WithoutItTowersNormaliseOnTheirOwn) {
  const Trained one = train<SimpleTrainer>(on_batches_of(16));
  const Trained own = train<SyncMultiDeviceTrainerParameterServer>(on_batches_of(8, false), cpu_devices(2));
  EXPECT_FALSE(equal(one.weights.at("bn0/gamma"), own.weights.at("bn0/gamma")));
  EXPECT_GT(std::abs(one.weights.at("bn0/mean/EMA").item(0) - own.weights.at("bn0/mean/EMA").item(0)), 1e-4);
}

TEST(SyncBatchNormTest, InferenceUsesTheAveragesAlone) {
  Graph graph;
  const GraphScope scope(graph);
  SyncMultiDeviceTrainerParameterServer trainer(cpu_devices(2));
  trainer.setup_graph(kSignature, QueueInput(points(64) | batch(8)), cost_with(true), make_momentum);
  const OnlinePredictor predict = trainer.get_predictor({"x"}, {"fc1/output"});
  trainer.train({.session_config = {.devices = {{1}, {1}}}, .steps_per_epoch = 2, .max_epoch = 1});
  EXPECT_EQ(predict({Array::full(f32, {1, 6}, 0.5)})[0].shape(), (Shape{1, 2}));
}

TEST(SyncBatchNormTest, ATowerThatLeavesItOutIsNamed) {
  Graph graph;
  const GraphScope scope(graph);
  SyncMultiDeviceTrainerParameterServer trainer(cpu_devices(2));
  const auto uneven = [](const Inputs& in) {
    const bool sync = get_current_tower_context().index() == 0;
    return reduce_mean(in["x"] | fully_connected("fc", {.units = 3}) | batch_norm("bn", {.sync_statistics = sync}));
  };
  trainer.setup_graph(kSignature, QueueInput(points(64) | batch(8)), uneven, make_momentum);
  EXPECT_TRUE(contains(error_of([&] {
                         trainer.train(
                             {.session_config = {.devices = {{1}, {1}}}, .steps_per_epoch = 1, .max_epoch = 1});
                       }),
                       "expected its sum across towers in all 2 towers, got it in tower 0 of 2 ('tower0/"));
}

TEST(SyncBatchNormTest, TowersWithRunsOfTheirOwnCannotWaitForEachOther) {
  Graph graph;
  const GraphScope scope(graph);
  const Tensor x = placeholder(f32, {kAny, 3});
  const TrainTowerContext tower("tower0", {.total = 2, .own_runs = true});
  x | batch_norm("bn0");
  EXPECT_TRUE(
      contains(error_of([&] { x | batch_norm("bn1", {.sync_statistics = true}); }),
               "[batch_norm 'tower0/bn1'] expected towers that make their steps together for .sync_statistics, got "
               "tower 'tower0', whose steps are separate"));
}

}  // namespace
}  // namespace belfry
