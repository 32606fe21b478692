// A definition that fails leaves no trace: it can simply be repeated.
#include <gtest/gtest.h>

#include "belfry/nn/layers.h"
#include "belfry/ops/reduce.h"
#include "belfry/ops/softmax.h"
#include "belfry/tower/tower_context.h"
#include "belfry/train/async_trainer.h"
#include "tests/support/errors.h"
#include "tests/train/train_testing.h"

namespace belfry {
namespace {

Tensor cost_of_setup(const Inputs& in) {
  const Tensor logits = in["x"] | fully_connected("fc", {.units = 2});
  softmax(logits, "prob");
  return reduce_mean(sparse_softmax_cross_entropy(logits, in["label"]), "cost");
}

TEST(SetupTwice, AFailedPredictorLeavesNothingBehind) {
  Graph graph;
  const GraphScope scope(graph);
  SimpleTrainer trainer;
  bool broken = true;
  const auto cost = [&](const Inputs& in) {
    if (broken && !get_current_tower_context().is_training()) throw Error("not yet");
    return cost_of_setup(in);
  };
  trainer.setup_graph(kSignature, QueueInput(points(8) | batch(2)), cost, make_momentum);
  const std::size_t nodes = graph.operations().size();
  EXPECT_EQ(error_of([&] { trainer.get_predictor({"x"}, {"prob"}); }), "not yet");
  EXPECT_EQ(graph.operations().size(), nodes);
  broken = false;
  const OnlinePredictor predict = trainer.get_predictor({"x"}, {"prob"});
  trainer.train({.steps_per_epoch = 1, .max_epoch = 1});
  EXPECT_EQ(predict({Array::zeros(f32, {3, 6})})[0].shape(), (Shape{3, 2}));
}

template <class T>
class SetupTwiceOnDevicesTest : public testing::Test {};
using AllTrainers =
    testing::Types<SyncMultiDeviceTrainerParameterServer, SyncMultiDeviceTrainerReplicated, AsyncMultiDeviceTrainer>;
TYPED_TEST_SUITE(SetupTwiceOnDevicesTest, AllTrainers);

TYPED_TEST(SetupTwiceOnDevicesTest, AFailedSetupCanBeRepeated) {
  Graph graph;
  const GraphScope scope(graph);
  TypeParam trainer(cpu_devices(2));
  const auto cost = [](const Inputs& in) {
    if (get_current_tower_context().index() == 1) throw Error("the second tower fails");
    return cost_of_setup(in);
  };
  const auto input = [] { return QueueInput(points(64) | batch(8)); };
  EXPECT_EQ(error_of([&] { trainer.setup_graph(kSignature, input(), cost, make_momentum); }), "the second tower fails");
  EXPECT_TRUE(graph.operations().empty());
  EXPECT_TRUE(trainer.callbacks().empty());
  trainer.setup_graph(kSignature, input(), cost_of_setup, make_momentum);
  EXPECT_TRUE(contains(error_of([&] { trainer.setup_graph(kSignature, input(), cost_of_setup, make_momentum); }),
                       "[setup_graph] expected to be called once, got a second call"));
  trainer.train({.session_config = {.devices = {{1}, {1}}}, .steps_per_epoch = 2, .max_epoch = 1});
  EXPECT_EQ(trainer.global_step(), 2);
}

}  // namespace
}  // namespace belfry
