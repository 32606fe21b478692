// Trainer::explain(): the plan of a step, without feeding it by hand and without losing a datapoint.
#include "belfry/input/graph_inputs.h"
#include "belfry/nn/layers.h"
#include "belfry/ops/reduce.h"
#include "belfry/ops/softmax.h"
#include "tests/support/errors.h"
#include "tests/train/train_testing.h"

namespace belfry {
namespace {

Tensor cost(const Inputs& in) {
  const Tensor logits = in["x"] | fully_connected("fc", {.units = 2});
  return reduce_mean(sparse_softmax_cross_entropy(logits, in["label"]), "cost");
}

Training training_on(const InputSourcePtr& input, const Callbacks& callbacks = {}) {
  return {.input = input, .cost = cost, .steps = 4, .callbacks = callbacks};
}

TEST(TrainerExplainTest, ShowsTheStepThatRanAndTakesNoPoint) {
  std::string plan;
  const Callbacks explains{after_last_step([&](Trainer& trainer) { plan = trainer.explain(); })};
  const Handle<Callback> each_step = CallbackFactory({.trigger_step = [](Trainer& trainer) {
    trainer.explain();
    trainer.explain(3);
  }});
  const InputSourcePtr quiet = QueueInput(points(64) | batch(8)), asked = QueueInput(points(64) | batch(8)),
                       often = QueueInput(points(64) | batch(8));
  const Trained plain = train<SimpleTrainer>(training_on(quiet));
  expect_same_bits(plain, train<SimpleTrainer>(training_on(asked, explains)));
  expect_same_bits(plain, train<SimpleTrainer>(training_on(often, {each_step})));
  EXPECT_TRUE(contains(plan, "f32[8, 6]")) << plan;
  EXPECT_TRUE(contains(plan, "'fc/")) << plan;
  EXPECT_TRUE(contains(plan, "update_")) << "the updates are a part of the step: " << plan;
}

TEST(TrainerExplainTest, ABatchIsEnoughBeforeTheFirstStep) {
  const auto input_of = [](int kind) -> InputSourcePtr {
    if (kind == 0) return QueueInput(points(64) | batch(8));
    if (kind == 1) return FeedInput(points(64) | batch(8));
    return StagingInput(QueueInput(points(64) | batch(8)));
  };
  for (int kind = 0; kind < 3; ++kind) {
    std::string plan;
    const Handle<Callback> first =
        CallbackFactory({.before_train = [&](Trainer& trainer) { plan = trainer.explain(32); }});
    expect_same_bits(train<SimpleTrainer>(training_on(input_of(kind))),
                     train<SimpleTrainer>(training_on(input_of(kind), {first})));
    EXPECT_TRUE(contains(plan, "f32[32, 6]")) << kind << "\n" << plan;
  }
}

TEST(TrainerExplainTest, WithoutAStepOrABatchTheErrorSaysWhatToDo) {
  std::string text;
  const Handle<Callback> first =
      CallbackFactory({.before_train = [&](Trainer& trainer) { text = error_of([&] { trainer.explain(); }); }});
  train<SimpleTrainer>(training_on(QueueInput(points(64) | batch(8)), {first}));
  EXPECT_TRUE(contains(text,
                       "[Trainer::explain] expected an earlier step, or a batch, got neither (at "
                       "explain_step_test.cc:"))
      << text;
}

TEST(TrainerExplainTest, AllTowersOfAStepAreInThePlan) {
  std::string plan;
  const Handle<Callback> first =
      CallbackFactory({.before_train = [&](Trainer& trainer) { plan = trainer.explain(16); }});
  train<SyncMultiDeviceTrainerReplicated>(training_on(QueueInput(points(64) | batch(8)), {first}), cpu_devices(2));
  EXPECT_TRUE(contains(plan, "  cpu:0  ") && contains(plan, "  cpu:1  ")) << plan;
  EXPECT_TRUE(contains(plan, "between devices")) << plan;
}

}  // namespace
}  // namespace belfry
