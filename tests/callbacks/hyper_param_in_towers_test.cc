// A number that tower functions ask for is one number, whatever variables the towers have of their own.
#include <gtest/gtest.h>

#include "belfry/callbacks/hyper_param_setter.h"
#include "belfry/graph/variable_scope.h"
#include "belfry/nn/hyper_param.h"
#include "belfry/nn/layers.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "tests/support/errors.h"
#include "tests/train/train_testing.h"

namespace belfry {
namespace {

Tensor cost_of(const Inputs& in) {
  const VariableScope scope("loss");
  const Tensor y = in["x"] | fully_connected("fc", {.units = 1});
  return reduce_mean(square(y - 1.f)) * hyper_param("weight", 1.f);
}

// Its weights after 10 steps of one epoch, and after the first four.
struct Weights {
  Array after_four, after_all;
};
template <class T>
Weights train(const Handle<Callback>& setter) {
  Weights out;
  const auto watch = [&](Trainer& trainer) {
    const Array now = trainer.session().value(trainer.graph().get_variable_by_name("loss/fc/W"));
    if (trainer.local_step() == 3) out.after_four = now;
    if (trainer.local_step() == 9) out.after_all = now;
    int weights = 0;
    for (const Variable& v : trainer.graph().variables()) weights += v.name().ends_with("weight") ? 1 : 0;
    EXPECT_EQ(weights, 1);
  };
  const Training training{.input = QueueInput(points(64) | batch(8)),
                          .cost = cost_of,
                          .steps = 10,
                          .optimizer = [] { return sgd({.learning_rate = 0.1f}); },
                          .callbacks = {setter, CallbackFactory({.trigger_step = watch})}};
  belfry::train<T>(training, cpu_devices(2));
  return out;
}

// The gradients are 0 from the fifth step on, in all towers.
void expect_stop(const Handle<Callback>& setter) {
  const Weights ps = train<SyncMultiDeviceTrainerParameterServer>(setter),
                replicated = train<SyncMultiDeviceTrainerReplicated>(setter);
  EXPECT_TRUE(equal(replicated.after_four, replicated.after_all));
  EXPECT_TRUE(equal(ps.after_all, replicated.after_all));
}

TEST(HyperParamInTowersTest, AScheduleReachesEveryTowerInTheMiddleOfAnEpoch) {
  expect_stop(ScheduledHyperParamSetter("loss/weight", {{4, 0}}, {.step_based = true}));
}

TEST(HyperParamInTowersTest, AValueThatIsSetReachesEveryTowerInTheMiddleOfAnEpoch) {
  expect_stop(CallbackFactory({.trigger_step = [](Trainer& trainer) {
    if (trainer.local_step() == 3)
      trainer.session().set_value(trainer.graph().get_variable_by_name("loss/weight"), Array(0.f));
  }}));
}

}  // namespace
}  // namespace belfry
