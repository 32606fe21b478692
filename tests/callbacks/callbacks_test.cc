// Summaries of steps, and schedules.
#include <gtest/gtest.h>

#include <cmath>

#include "belfry/callbacks/hyper_param_setter.h"
#include "belfry/callbacks/hyper_param_summary.h"
#include "belfry/callbacks/summaries.h"
#include "belfry/loop/triggers.h"
#include "belfry/nn/hyper_param.h"
#include "belfry/nn/summary.h"
#include "tests/callbacks/callbacks_testing.h"
#include "tests/loop/loop_testing.h"

namespace belfry {
namespace {

using testing_support::CallbacksTest;
using testing_support::UnevenTrainer;

TEST_F(CallbacksTest, MovingAveragesWeighTheFirstStepsFully) {
  add_moving_summary({identity(counted, "tower0/loss")});
  Trainer trainer;
  run(trainer, {MovingAverageSummary({.decay = 0.5})});
  // After two steps: (1 / 4 + 2 / 2) / (3 / 4).
  const std::vector<double> got = values(trainer, "loss");
  ASSERT_EQ(got.size(), 3u);
  EXPECT_DOUBLE_EQ(got[0], (0.25 * 1 + 0.5 * 2) / 0.75);
  EXPECT_EQ(trainer.monitors().history("loss")[1].step, 4);
}

TEST_F(CallbacksTest, MovingAveragesGoOnFromTheirState) {
  add_moving_summary({identity(counted, "loss")});
  std::string state;
  Trainer trainer;
  run(trainer, {MovingAverageSummary(),
                CallbackFactory({.after_train = [&](Trainer& t) { state = t.callbacks()[1]->state(); }})});
  MovingAverageSummary again;
  Trainer other;
  again.attach(other);
  again.setup_graph();
  again.restore(state);
  EXPECT_EQ(again.state(), state);
  EXPECT_TRUE(contains(error_of([&] { again.restore("{}"); }), "[MovingAverageSummary] expected the state"));
}

TEST_F(CallbacksTest, SummariesComeFromTheEpochsLastStepBeforeAnyTrigger) {
  add_summary({identity(counted, "value"), multiply(constant(Array::full(f32, {3}, 1)), counted, "vector")});
  std::vector<double> seen;
  Trainer trainer;
  run(trainer,
      {MergeAllSummaries(),
       CallbackFactory({.trigger_epoch = [&](Trainer& t) { seen.push_back(*t.monitors().latest("value")); }})});
  EXPECT_EQ(seen, (std::vector<double>{2, 4, 6}));
  EXPECT_EQ(values(trainer, "vector/mean"), (std::vector<double>{2, 4, 6}));
}

TEST_F(CallbacksTest, SummariesHaveMeansAndRootMeanSquares) {
  const Tensor vector = identity(constant(Array::of<float>({2}, {3, -4})), "vector");
  add_summary({vector});
  Trainer trainer;
  run(trainer, {MergeAllSummaries()});
  EXPECT_EQ(values(trainer, "vector/mean"), std::vector<double>(3, -0.5));
  EXPECT_DOUBLE_EQ(*trainer.monitors().latest("vector/rms"), std::sqrt(12.5));
}

TEST_F(CallbacksTest, SummariesArePutOnceAnEpochHoweverManyRunsItsLastStepHas) {
  const auto history = [](std::vector<int> runs) {
    Graph own;
    const GraphScope inside(own);
    const Tensor count = var("n", Array(0.f)).assign_add(1.f);
    add_summary({identity(count, "value")});
    UnevenTrainer trainer(std::move(runs));
    trainer.train_op = Operation(count.node());
    trainer.train({.callbacks = {MergeAllSummaries()}, .steps_per_epoch = 6, .max_epoch = 2});
    return trainer.monitors().history("value");
  };
  using Entries = std::vector<Monitors::Entry>;
  EXPECT_EQ(history({1, 2}), (Entries{{9, 9}, {18, 18}}));
  EXPECT_EQ(history({1, 0, 0}), (Entries{{2, 2}, {4, 4}}));
}

// The k-th run is one of nothing: the next that trains gives the values.
TEST_F(CallbacksTest, SummariesEveryFewStepsWaitForARunThatTrains) {
  struct Idling final : Trainer {
    void run_step() override {
      hooked_session().run(train_op);
      hooked_session().run({});
    }
  } trainer;
  add_summary({identity(counted, "value")});
  run(trainer, {MergeAllSummaries({.every_k_steps = 4})});  // six steps, twelve runs
  EXPECT_EQ(trainer.monitors().history("value"), (std::vector<Monitors::Entry>{{5, 3}, {9, 5}}));
}

TEST_F(CallbacksTest, SummariesEveryFewSteps) {
  add_summary({identity(counted, "value")});
  Trainer trainer;
  run(trainer, {MergeAllSummaries({.every_k_steps = 4})});
  EXPECT_EQ(trainer.monitors().history("value"), (std::vector<Monitors::Entry>{{4, 4}}));
}

TEST_F(CallbacksTest, SummariesInARunOfTheirOwn) {
  const Variable runs = var("runs", Array(0.f));
  graph.collections().add("MY_SUMMARIES", identity(runs.assign_add(1.f), "alone"));
  std::vector<double> seen;
  Trainer trainer;
  run(trainer,
      {MergeAllSummaries({.run_alone = true, .collection = "MY_SUMMARIES"}),
       CallbackFactory({.trigger_epoch = [&](Trainer& t) { seen.push_back(*t.monitors().latest("alone")); }})});
  EXPECT_EQ(seen, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(trainer.global_step(), 6);
}

TEST_F(CallbacksTest, MovingAveragesOfAnotherCollection) {
  graph.collections().add("MY_SUMMARIES", identity(counted, "mine"));
  Trainer trainer;
  run(trainer, {MovingAverageSummary({.decay = 0, .collection = "MY_SUMMARIES"})});
  EXPECT_EQ(values(trainer, "mine"), (std::vector<double>{2, 4, 6}));
}

// An average that has gone to 0 is a number below 1e-308 some ten thousand steps later.
TEST_F(CallbacksTest, MovingAveragesOfZeroCanBeRestored) {
  add_moving_summary({identity(counted, "loss")});
  MovingAverageSummary average;
  Trainer trainer;
  average.attach(trainer);
  average.setup_graph();
  const std::string state = R"({"sums":"{\"loss\":\"4e-310\"}","weight":"1"})";
  average.restore(state);
  EXPECT_EQ(average.state(), state);
}

TEST_F(CallbacksTest, SchedulesSetTheValueAfterTheEpoch) {
  const Variable rate = hyper_param("rate", 0.5f);
  std::vector<double> seen;
  Trainer trainer;
  trainer.train_op = Operation(counted.node());
  trainer.train(
      {.callbacks = {ScheduledHyperParamSetter("rate", {{2, 0.25}, {3, 0.0}}),
                     CallbackFactory(
                         {.before_epoch = [&](Trainer& t) { seen.push_back(t.session().value(rate).item()); }})},
       .steps_per_epoch = 1,
       .max_epoch = 4});
  EXPECT_EQ(seen, (std::vector<double>{0.5, 0.5, 0.25, 0}));  // 0 is a value like any other
}

TEST_F(CallbacksTest, ATrainingThatBeginsLaterBeginsWithTheSchedulesValue) {
  const Variable rate = hyper_param("rate", 0.5f);
  Trainer trainer;
  trainer.train_op = Operation(counted.node());
  trainer.train({.callbacks = {ScheduledHyperParamSetter("rate", {{0, 1.0}, {3, 0.25}, {9, 0.125}})},
                 .steps_per_epoch = 1,
                 .starting_epoch = 6,
                 .max_epoch = 6});
  EXPECT_EQ(trainer.session().value(rate).item(), 0.25);
}

TEST_F(CallbacksTest, BetweenTwoPointsASchedulesValueIsLeftAlone) {
  const Variable rate = hyper_param("rate", 0.5f);
  std::vector<double> seen;
  const auto by_hand = [&](Trainer& t) {
    seen.push_back(t.session().value(rate).item());
    if (t.epoch_num() == 2) t.session().set_value(rate, Array(0.75f));
  };
  Trainer trainer;
  trainer.train_op = Operation(counted.node());
  trainer.train({.callbacks = {ScheduledHyperParamSetter("rate", {{1, 0.25}, {4, 0.125}}),
                               CallbackFactory({.before_epoch = by_hand})},
                 .steps_per_epoch = 1,
                 .max_epoch = 5});
  EXPECT_EQ(seen, (std::vector<double>{0.5, 0.25, 0.75, 0.75, 0.125}));
}

// A step that runs twice counts two: the point at 3 is passed, not met.
TEST_F(CallbacksTest, PointsThatAreSkippedCountWhenTheyArePassed) {
  struct Twice final : Trainer {
    void run_step() override {
      hooked_session().run(train_op);
      hooked_session().run(train_op);
    }
  } trainer;
  const Variable rate = hyper_param("rate", 0.5f);
  std::vector<double> seen;
  run(trainer,
      {ScheduledHyperParamSetter("rate", {{3, 0.25}}, {.step_based = true}),
       CallbackFactory({.trigger_step = [&](Trainer& t) { seen.push_back(t.session().value(rate).item()); }})});
  EXPECT_EQ(seen, (std::vector<double>{0.5, 0.25, 0.25, 0.25, 0.25, 0.25}));
}

TEST_F(CallbacksTest, SchedulesCanBeLinearAndCountSteps) {
  const Variable rate = hyper_param("rate", 1.f);
  std::vector<double> seen;
  Trainer trainer;
  trainer.train_op = Operation(counted.node());
  trainer.train(
      {.callbacks = {ScheduledHyperParamSetter("rate", {{0, 1}, {4, 0}}, {.linear = true, .step_based = true}),
                     CallbackFactory(
                         {.trigger_step = [&](Trainer& t) { seen.push_back(t.session().value(rate).item()); }})},
       .steps_per_epoch = 5,
       .max_epoch = 1});
  EXPECT_EQ(seen, (std::vector<double>{0.75, 0.5, 0.25, 0, 0}));
}

TEST_F(CallbacksTest, ScheduleMistakesAreNamed) {
  EXPECT_TRUE(
      contains(error_of([] { ScheduledHyperParamSetter("rate", {}); }), "expected a schedule, got an empty one"));
  EXPECT_TRUE(contains(error_of([] { ScheduledHyperParamSetter("rate", {{1, 1}, {1, 2}}); }), "got 1 twice"));
}

TEST_F(CallbacksTest, ASetterOfAnUnknownHyperParameterSaysWhoAskedAndWhatThereIs) {
  const auto text_for = [this](const char* name) {
    Trainer trainer;
    return error_of([&] { run(trainer, {ScheduledHyperParamSetter(name, {{1, 1.0}})}); });
  };
  EXPECT_EQ(text_for("learning_rate"),
            "[ScheduledHyperParamSetter] expected the name of a hyper-parameter, got 'learning_rate'. Make it a "
            "variable: hyper_param(\"learning_rate\", value).");
  hyper_param("rate", 0.5f);
  hyper_param("decay", 0.5f);
  EXPECT_EQ(text_for("learning_rate"),
            "[ScheduledHyperParamSetter] expected the name of a hyper-parameter, got 'learning_rate'. The "
            "hyper-parameters here are 'rate', 'decay'.");
  EXPECT_EQ(text_for("rates"),
            "[ScheduledHyperParamSetter] expected the name of a hyper-parameter, got 'rates'. Did you mean 'rate'?");
}

// The value that the epoch's steps used, as it was written.
TEST_F(CallbacksTest, HyperParametersArePutEachEpoch) {
  hyper_param("rate", 0.1f);
  hyper_param("decay", 0.5f);
  add_summary({identity(counted, "mine")});
  Trainer trainer;
  run(trainer, {ScheduledHyperParamSetter("rate", {{2, 0.001}}), HyperParamSummary()});
  EXPECT_EQ(values(trainer, "rate"), (std::vector<double>{0.1, 0.1, 0.001}));
  EXPECT_EQ(values(trainer, "decay"), (std::vector<double>{0.5, 0.5, 0.5}));
}

TEST_F(CallbacksTest, AHyperParameterThatSomebodyElsePutsIsLeftToThem) {
  hyper_param("rate", 0.1f);
  const Handle<Callback> other =
      CallbackFactory({.setup_graph = [](Trainer& t) { t.monitors().declare(*t.callbacks()[1], "rate"); },
                       .trigger_epoch = [](Trainer& t) { t.monitors().put_scalar("rate", t.epoch_num()); }});
  Trainer trainer;
  run(trainer, {other, HyperParamSummary()});
  EXPECT_EQ(values(trainer, "rate"), (std::vector<double>{1, 2, 3}));
}

TEST_F(CallbacksTest, ASummaryThatTwoCallbacksPutIsAnError) {
  const Tensor value = identity(counted, "value");
  add_summary({value});
  add_moving_summary({value});
  Trainer trainer;
  EXPECT_EQ(
      error_of([&] { run(trainer, {MovingAverageSummary(), MergeAllSummaries()}); }),
      "[MergeAllSummaries] expected metrics that no other callback puts, got 'value', which MovingAverageSummary "
      "puts too. Remove one of the two: a tensor belongs in MOVING_SUMMARIES or in SUMMARIES, and a collection has "
      "one callback (.extra_callbacks replaces those that train_with_defaults() adds).");
}

}  // namespace
}  // namespace belfry
