// Costs that are NaN or infinite: who notices, when, and what follows.
#include "belfry/train/cost_guard.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "belfry/callbacks/model_saver.h"
#include "belfry/nn/gradient_processor.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "belfry/tower/tower_context.h"
#include "belfry/train/async_trainer.h"
#include "tests/session/session_testing.h"
#include "tests/support/files.h"
#include "tests/train/train_testing.h"

namespace belfry {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class CostGuardTest : public testing_support::GraphTest {
 protected:
  testing_support::TempDir temp;
  int epochs = 0;  // that were finished

  // Points of 1, but for the `bad`-th.
  static Flow ones(int count, int bad) {
    std::vector<DataPoint> out;
    for (int i = 1; i <= count; ++i) out.push_back({Array::full(f32, {1}, i == bad ? kInfinity : 1)});
    return from_list(std::move(out));
  }
  // Infinite in the step that gets the infinite point; the weights stay what they are.
  static Tensor cost_of(const Inputs& in) {
    const Tensor w = get_variable("w", {.initializer = [](const Shape&, DType) { return constant(1.f); }});
    return add(w * 0.f, stop_gradient(reduce_mean(in["x"])), "cost");
  }
  void run(SingleCostTrainer& trainer, const Flow& flow, Callbacks callbacks = {}, GetOptimizer optimizer = {}) {
    if (!optimizer) optimizer = [] { return sgd({.learning_rate = 0.1f}); };
    trainer.setup_graph({{"x", f32, {kAny}}}, QueueInput(flow), cost_of, optimizer);
    callbacks.emplace_back(CallbackFactory({.trigger_epoch = [this](Trainer&) { ++epochs; }}));
    trainer.train({.callbacks = std::move(callbacks),
                   .session_config = {.devices = {{1}, {1}}},
                   .steps_per_epoch = 4,
                   .max_epoch = 2,
                   .run_dir = temp.path()});
  }
};

TEST_F(CostGuardTest, ABadCostIsAWarningAtItsStepAndAnErrorAfterItsEpoch) {
  const testing_support::LogLines log;
  std::string after_step;
  SimpleTrainer trainer;
  const std::string text = error_of<NumericError>([&] {
    run(trainer, ones(100, 6), {ModelSaver(), CallbackFactory({.trigger_step = [&](Trainer& t) {
                                  if (t.global_step() == 6) after_step = log.text;
                                }})});
  });
  EXPECT_EQ(after_step,
            "[CostGuard] expected a finite cost, got inf for 'cost' at step 6. Further ones in this epoch are only "
            "counted.\n");
  EXPECT_TRUE(text.starts_with("[CostGuard] expected finite costs, got inf for 'cost' at step 6. Lower")) << text;
  EXPECT_EQ(trainer.global_step(), 8);
  EXPECT_EQ(epochs, 1);
  EXPECT_TRUE(std::filesystem::exists(temp.path() + "/model-4.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(temp.path() + "/model-8.safetensors"));  // the error came before
}

TEST_F(CostGuardTest, FurtherOnesOfAnEpochAreCounted) {
  const testing_support::LogLines log;
  SimpleTrainer trainer;
  const std::string text = error_of<NumericError>([&] { run(trainer, ones(1, 1)); });
  EXPECT_TRUE(contains(text, "got inf for 'cost' at step 1, and 3 more in the same epoch.")) << text;
  EXPECT_EQ(log.text.find("step"), log.text.rfind("step")) << log.text;
}

TEST_F(CostGuardTest, TrainingGoesOnIfAskedTo) {
  const testing_support::LogLines log;
  SimpleTrainer trainer;
  trainer.on_bad_cost = OnBadCost::warn;
  run(trainer, ones(100, 2));
  EXPECT_EQ(epochs, 2);
  EXPECT_TRUE(
      log.text.ends_with("[CostGuard] epoch 1 had 1 cost that was not finite, the first: inf for 'cost' at step 2.\n"))
      << log.text;
}

TEST_F(CostGuardTest, TrainingStopsAtOnceIfAskedTo) {
  SimpleTrainer trainer;
  trainer.on_bad_cost = OnBadCost::stop_now;
  EXPECT_THROW(run(trainer, ones(100, 3)), NumericError);
  EXPECT_EQ(trainer.global_step(), 3);
}

TEST_F(CostGuardTest, ARunThatDoesNotTrainTakesNoPointForIt) {
  NoOpTrainer trainer;
  run(trainer, ones(1, 1));
  EXPECT_EQ(epochs, 2);
}

// Towers take their points in turns: the sixth is the second tower's in the third step.
TEST_F(CostGuardTest, EachTowersCostIsLookedAt) {
  SyncMultiDeviceTrainerParameterServer trainer(cpu_devices(2));
  const std::string text = error_of<NumericError>([&] { run(trainer, ones(100, 6)); });
  EXPECT_TRUE(contains(text, "got inf for 'tower1/cost' at step 3.")) << text;
}

TEST_F(CostGuardTest, EachReplicasCostIsLookedAt) {
  SyncMultiDeviceTrainerReplicated trainer(cpu_devices(2));
  const std::string text = error_of<NumericError>([&] { run(trainer, ones(100, 6)); });
  EXPECT_TRUE(contains(text, "got inf for 'tower1/cost' at step 3.")) << text;
}

// The costs of the towers that make runs of their own; here only those are bad.
TEST_F(CostGuardTest, TowersThatRunByThemselvesAreLookedAtToo) {
  AsyncMultiDeviceTrainer trainer(cpu_devices(2));
  trainer.setup_graph(
      {{"x", f32, {kAny}}}, QueueInput(ones(1, 2)),
      [](const Inputs& in) {
        const Tensor cost = cost_of(in);
        return add(cost, current_tower_context_or_null()->index() == 1 ? kInfinity : 0.f, "all");
      },
      [] { return sgd({.learning_rate = 0.1f}); });
  // Before its second update the other tower has looked at its first cost.
  const auto wait = [&](Trainer& t) {
    while (trainer.async_updates() < t.global_step() + 2 && !t.stop_requested()) std::this_thread::yield();
  };
  const std::string text = error_of<NumericError>([&] {
    trainer.train({.callbacks = {CallbackFactory({.trigger_step = wait})},
                   .session_config = {.devices = {{1}, {1}}},
                   .steps_per_epoch = 1,
                   .max_epoch = 1});
  });
  EXPECT_TRUE(contains(text, "got inf for 'tower1/all' at step 1")) << text;
}

// Two players in turns, each in a separate run. While b is 2, its cost is infinite: from its second run to its third.
class Turns final : public Trainer {
 public:
  explicit Turns(OnBadCost then) {
    const Variable a = counter("a"), b = counter("b");
    a_step_ = Operation(a.assign_add(1.f));
    b_step_ = b.assign_add(1.f);
    register_callback(
        CostGuard({{a_step_, {add(a, 0.f, "cost_a")}}, {Operation(b_step_), {divide(1.f, 2.f - b, "cost_b")}}}, then));
  }
  void run_step() override {
    hooked_session().run(a_step_);
    hooked_session().run(b_step_);  // by its tensor
  }

 private:
  static Variable counter(const char* name) {
    return get_variable(name, {.initializer = [](const Shape&, DType) { return constant(0.f); }, .trainable = false});
  }
  Operation a_step_;
  Tensor b_step_;
};

TEST_F(CostGuardTest, ATrainerOfOnesOwnNamesTheCostsOfItsSteps) {
  Turns trainer(OnBadCost::stop_after_epoch);
  const std::string text = error_of<NumericError>([&] { trainer.train({.steps_per_epoch = 5, .max_epoch = 2}); });
  EXPECT_TRUE(contains(text, "got inf for 'cost_b' at step 6. ")) << text;  // not at step 5, which is a's
  EXPECT_EQ(trainer.global_step(), 10);
}

TEST_F(CostGuardTest, ATrainerOfOnesOwnMayStopAtOnce) {
  Turns trainer(OnBadCost::stop_now);
  EXPECT_THROW(trainer.train({.steps_per_epoch = 5, .max_epoch = 2}), NumericError);
  EXPECT_EQ(trainer.global_step(), 6);
}

TEST_F(CostGuardTest, WatchedCostsAreScalars) {
  const Tensor losses = constant(Array::zeros(f32, {3}), "losses");
  const std::string text = error_of([&] { CostGuard({{Operation(losses), {losses}}}); });
  EXPECT_TRUE(
      text.starts_with("[CostGuard] expected scalar floats as costs, got 'losses' f32 [3] (at cost_guard_test.cc:"))
      << text;
  EXPECT_TRUE(contains(error_of([] { CostGuard({{Operation(), {Tensor()}}}); }), "got an empty tensor (at "));
}

TEST_F(CostGuardTest, CheckGradientSaysAtWhichStep) {
  SimpleTrainer trainer;
  trainer.setup_graph(
      {{"x", f32, {kAny}}}, QueueInput(ones(100, 6)),
      [](const Inputs& in) {
        const Tensor w = get_variable("w", {.initializer = [](const Shape&, DType) { return constant(1.f); }});
        return reduce_mean(in["x"] * w, "cost");
      },
      [] { return apply_grad_processors(sgd({.learning_rate = 0.f}), {check_gradient()}); });
  const std::string text = error_of<NumericError>([&] { trainer.train({.steps_per_epoch = 4, .max_epoch = 2}); });
  EXPECT_TRUE(contains(text, "the gradient of 'w'")) << text;
  EXPECT_TRUE(text.ends_with(" (step 6, in epoch 2)")) << text;
}

}  // namespace
}  // namespace belfry
