// Towers with variables of their own: inference in any of them, and what of an optimizer is copied between them.
#include <gtest/gtest.h>

#include "belfry/graph/graph.h"
#include "belfry/nn/initializers.h"
#include "belfry/nn/layers.h"
#include "belfry/nn/proxy_optimizer.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "belfry/tower/tower_context.h"
#include "belfry/train/broadcast_variables.h"
#include "tests/session/session_testing.h"
#include "tests/train/train_testing.h"

namespace belfry {
namespace {

const TrainOptions kThreeSteps{.session_config = {.devices = {{1}, {1}}}, .steps_per_epoch = 3, .max_epoch = 1};

// The state belongs to one call of the function: each tower makes its own.
Tensor cost_with_state(const Inputs& in) {
  const Variable state = new_variable("state", {.shape = {1}, .initializer = init::ones()});
  const Tensor y = in["x"] | fully_connected("fc", {.units = 1});
  return reduce_mean(square(y + state), "cost");
}

TEST(ReplicatedTowersTest, AnInferenceTowerOnAnyDeviceMayHaveStateOfItsOwn) {
  Graph graph;
  const GraphScope scope(graph);
  SyncMultiDeviceTrainerReplicated trainer(cpu_devices(2));
  trainer.setup_graph(kSignature, QueueInput(points(64) | batch(8)), cost_with_state, make_momentum);
  const OnlinePredictor first = trainer.get_predictor({"x"}, {"cost"}, 0);
  const OnlinePredictor second = trainer.get_predictor({"x"}, {"cost"}, 1);
  EXPECT_EQ(trainer.towers()["predict_tower1"].get_variable("state_1").name(), "tower1/state_1");
  trainer.train(kThreeSteps);
  const Array x = Array::full(f32, {2, 6}, 0.3);
  EXPECT_TRUE(equal(first({x})[0], second({x})[0]));
}

TEST(ReplicatedTowersTest, TheWordTowerIsReservedInThemToo) {
  Graph graph;
  const GraphScope scope(graph);
  SyncMultiDeviceTrainerReplicated trainer(cpu_devices(2));
  trainer.setup_graph(
      kSignature, QueueInput(points(64) | batch(8)),
      [](const Inputs& in) {
        if (!get_current_tower_context().is_training()) new_variable("my_tower", {.shape = {1}});
        return cost_with_state(in);
      },
      make_momentum);
  EXPECT_TRUE(contains(error_of([&] { trainer.get_predictor({"x"}, {"cost"}, 1); }), "got 'my_tower"));
}

// Counts the updates of all towers in one variable, which it makes when it is first asked for an update, or the last
// time; and those of each tower in one more.
class Counting final : public ProxyOptimizer {
 public:
  Counting(std::unique_ptr<Optimizer> wrapped, int made_in_call)
      : ProxyOptimizer(std::move(wrapped), "Counting", {}), made_in_call_(made_in_call) {}
  Operation apply_processed(const GradientsAndVariables& gradients, std::string_view name,
                            const Location& where) override {
    if (calls_++ == made_in_call_) new_variable("shared", {.shape = {}, .initializer = init::zeros()});
    const Variable own = new_variable("own", {.shape = {}, .initializer = init::constant(calls_)});
    return group(
        {Operation(own.assign_add(10.f)), wrapped().apply_processed(gradients, std::string(name) + "_inner", where)},
        name);
  }

 private:
  int made_in_call_, calls_ = 0;
};

TEST(ReplicatedTowersTest, WhatTheTowersShareIsNotCopied) {
  for (const int call : {0, 1}) {
    int copies = 0;
    double own = 0, other = 0;
    const auto look = [&](Trainer& t) {
      copies = count_equal_copies(t);
      own = t.session().value(t.graph().get_variable_by_name("own")).item();
      other = t.session().value(t.graph().get_variable_by_name("own_1")).item();
      t.session().set_value(t.graph().get_variable_by_name("shared"), Array(5.f));
    };
    Graph graph;
    const GraphScope scope(graph);
    SyncMultiDeviceTrainerReplicated trainer(cpu_devices(2));
    trainer.setup_graph(kSignature, QueueInput(points(64) | batch(8)), cost_with_state,
                        [&] { return std::make_unique<Counting>(adam(), call); });
    TrainOptions options = kThreeSteps;
    options.callbacks = {after_last_step(look)};
    trainer.train(options);
    EXPECT_EQ(copies, 7);   // the state; fc's W and b with Adam's m and v of each
    EXPECT_EQ(own, 31);     // 1 at first, and three updates
    EXPECT_EQ(other, own);  // 2 at first, but for the broadcast
    EXPECT_EQ(trainer.session().value(graph.get_variable_by_name("shared")).item(), 5);
    EXPECT_EQ(trainer.session().value(graph.get_variable_by_name("Adam/step_1")).item(), 3);
  }
}

TEST(ReplicatedTowersTest, EachTowerNeedsADeviceAndSlotsOfItsOwn) {
  Graph graph;
  const GraphScope scope(graph);
  SyncMultiDeviceTrainerReplicated trainer(cpu_devices(2));
  trainer.setup_graph(kSignature, QueueInput(points(64) | batch(8)), cost_with_state, make_momentum);
  const std::vector<TowerTensorHandle> towers = trainer.towers().training();
  const std::string text = error_of([&] { broadcast_variables(towers, {0}); });
  EXPECT_TRUE(
      text.starts_with("[broadcast_variables] expected a device and, if any, slots for each of 2 towers, got 1 "
                       "devices and slots of 0."))
      << text;
  EXPECT_TRUE(contains(error_of([&] { broadcast_variables(towers, {0, 1}, {{}}); }), "got 2 devices and slots of 1."));
}

}  // namespace
}  // namespace belfry
