// Wrappers that change when a callback acts, and the small callbacks.
#include "belfry/loop/triggers.h"

#include <gtest/gtest.h>

#include "belfry/graph/collections.h"
#include "belfry/loop/run_op.h"
#include "belfry/loop/trainer.h"
#include "tests/loop/loop_testing.h"

namespace belfry {
namespace {

using testing_support::UnevenTrainer;

// Writes down the global step of every call.
class Probe final : public Callback {
 public:
  struct Steps {
    std::vector<std::int64_t> triggers, runs, epochs;
    int before_train = 0, after_train = 0;
  };
  explicit Probe(Steps& steps) : steps_(&steps) {}
  void before_train() override { ++steps_->before_train; }
  void after_train() override { ++steps_->after_train; }
  void before_epoch() override { steps_->epochs.push_back(trainer().epoch_num()); }
  void after_run(const RunContext&, const RunValues&) override { steps_->runs.push_back(trainer().global_step()); }
  void trigger() override { steps_->triggers.push_back(trainer().global_step()); }
  std::string state() const override { return "kept"; }

 private:
  Steps* steps_;
};

using List = std::vector<std::int64_t>;

class TriggersTest : public testing_support::GraphTest {
 protected:
  Probe::Steps steps;
  Variable count = var("count", Array(0.f));

  std::string run(Handle<Callback> callback, int max_epoch = 3) {
    Trainer trainer;
    trainer.train_op = Operation(count.assign_add(1.f).node());
    return trainer.train({.callbacks = {std::move(callback)}, .steps_per_epoch = 4, .max_epoch = max_epoch});
  }
};

TEST_F(TriggersTest, ByItselfACallbackTriggersOnceAnEpoch) {
  run(Probe(steps));
  EXPECT_EQ(steps.triggers, (List{4, 8, 12}));
}

TEST_F(TriggersTest, PeriodicTriggerGoesByStepsAndEpochs) {
  run(PeriodicTrigger(Probe(steps), {.every_k_steps = 5, .every_k_epochs = 2, .before_train = true}));
  EXPECT_EQ(steps.triggers, (List{0, 5, 8, 10}));
  EXPECT_EQ(steps.runs.size(), 12u);
}

TEST_F(TriggersTest, AStepPeriodIsTriggeredOnceWhereGlobalStepStandsStillOrJumps) {
  const auto triggers = [this](std::vector<int> runs) {
    Graph own;
    const GraphScope inside(own);
    steps = {};
    UnevenTrainer trainer(std::move(runs));
    trainer.train_op = Operation(var("w", Array(0.f)).assign_add(1.f).node());
    trainer.train(
        {.callbacks = {PeriodicTrigger(Probe(steps), {.every_k_steps = 4})}, .steps_per_epoch = 6, .max_epoch = 2});
    return steps.triggers;
  };
  EXPECT_EQ(triggers({1, 0, 0}), (List{4}));  // is at 4 three times
  EXPECT_EQ(triggers({3}), (List{6, 9, 12, 18, 21, 24, 30, 33, 36}));
  EXPECT_EQ(triggers({9, 0}), (List{9, 18, 27, 36, 45, 54}));  // two periods in one iteration are one trigger
}

TEST_F(TriggersTest, PeriodicRunHooksTakePartInEveryKthRun) {
  run(PeriodicRunHooks(Probe(steps), 5));
  EXPECT_EQ(steps.runs, (List{5, 10}));
  EXPECT_EQ(steps.triggers, (List{4, 8, 12}));
}

TEST_F(TriggersTest, ADisabledCallbackSeesOnlyTheEndsOfTraining) {
  run(EnableCallbackIf(Probe(steps), [](Trainer& t) { return t.epoch_num() == 2; }));
  EXPECT_EQ(steps.runs, (List{5, 6, 7, 8}));
  EXPECT_EQ(steps.epochs, List{2});
  EXPECT_EQ(steps.triggers, List{8});
  EXPECT_EQ(steps.before_train, 1);
  EXPECT_EQ(steps.after_train, 1);
}

TEST_F(TriggersTest, PeriodicCallbackIsEnabledEveryKthEpoch) {
  run(PeriodicCallback(Probe(steps), 3), 6);
  EXPECT_EQ(steps.epochs, (List{3, 6}));
}

TEST_F(TriggersTest, ADisabledCallbackIsNotTriggeredByAWrapperAroundIt) {
  run(PeriodicTrigger(EnableCallbackIf(Probe(steps), [](Trainer&) { return false; }),
                      {.every_k_steps = 2, .every_k_epochs = 1, .before_train = true}));
  EXPECT_EQ(steps.triggers, List{});
}

TEST_F(TriggersTest, APeriodicCallbackIsTriggeredInItsEpochsOnly) {
  run(PeriodicTrigger(PeriodicCallback(Probe(steps), 2), {.every_k_steps = 2}), 4);
  EXPECT_EQ(steps.triggers, (List{6, 8, 14, 16}));
}

TEST_F(TriggersTest, AWrapperInsideADisabledOneTriggersOnlyWhileEnabled) {
  run(EnableCallbackIf(PeriodicTrigger(Probe(steps), {.every_k_steps = 3}),
                       [](Trainer& t) { return t.epoch_num() == 2; }));
  EXPECT_EQ(steps.triggers, List{6});  // and not the 3 that was missed
}

TEST_F(TriggersTest, WrappersKeepNameAndState) {
  const PeriodicTrigger wrapped(PeriodicCallback(Probe(steps), 1), {.every_k_epochs = 1});
  EXPECT_EQ(wrapped.name(), "Probe");
  EXPECT_EQ(wrapped.state(), "kept");
}

TEST_F(TriggersTest, MistakesAreNamed) {
  EXPECT_EQ(error_of([&] { PeriodicTrigger(Probe(steps), {}); }),
            "[PeriodicTrigger] expected a time to trigger 'Probe', got none. Set every_k_steps, every_k_epochs or "
            "before_train.");
  EXPECT_EQ(error_of([&] { PeriodicRunHooks(Probe(steps), 0); }),
            "[PeriodicRunHooks] expected a period of 1 or more, got 0.");
  EXPECT_EQ(error_of([&] { PeriodicCallback(Probe(steps), 0); }),
            "[PeriodicCallback] expected a period of 1 or more, got 0.");
  EXPECT_TRUE(error_of([&] {
                Probe(steps).trainer();
              }).starts_with("[Probe] expected to take part in a training, got a call before"));
}

TEST_F(TriggersTest, RunOpRunsAloneOrAlongWithTheStep) {
  const Variable alone = var("alone", Array(0.f)), along = var("along", Array(0.f));
  const Operation add = Operation(along.assign_add(1.f).node());
  double at_end = 0, along_at_end = 0;
  Trainer trainer;
  trainer.train_op = Operation(count.assign_add(1.f).node());
  trainer.train({.callbacks = {RunOp([&] { return Operation(alone.assign_add(1.f).node()); }),
                               RunOp(add, {.before_train = false, .as_trigger = false, .along_with_step = true}),
                               CallbackFactory({.after_train =
                                                    [&](Trainer& t) {
                                                      at_end = t.session().value(alone).item();
                                                      along_at_end = t.session().value(along).item();
                                                    }})},
                 .steps_per_epoch = 4,
                 .max_epoch = 3});
  EXPECT_EQ(at_end, 4);         // before training and after each epoch
  EXPECT_EQ(along_at_end, 12);  // once a step
}

TEST_F(TriggersTest, RunOpRefusesAnEmptyHandleWhereItIsMade) {
  const std::string text = error_of([] { const RunOp none{Tensor()}; });
  EXPECT_TRUE(
      text.starts_with("[RunOp] expected an operation, a tensor or a name, got an empty handle (at "
                       "triggers_test.cc:"))
      << text;
  EXPECT_TRUE(
      text.ends_with("). If the graph is not made yet, pass a function that is called when it is: "
                     "RunOp([model] { return model->cost_; })."))
      << text;
}

TEST_F(TriggersTest, RunOpTakesANameAndSaysWhatItRuns) {
  std::string text;
  const LogRedirect redirect([&](LogLevel, std::string_view line) { text += std::string(line) + "\n"; });
  const Variable other = var("other", Array(0.f));
  identity(other.assign_add(1.f), "count_up");
  EXPECT_TRUE(contains(error_of([&] {
                         Graph own;
                         const GraphScope inside(own);
                         Trainer trainer;
                         trainer.setup_callbacks({RunOp("count_op")});
                       }),
                       "count_op"));
  run(RunOp("count_up", {.as_trigger = false, .verbose = true}));
  EXPECT_TRUE(contains(text, "[RunOp] runs 'count_up'")) << text;
}

TEST_F(TriggersTest, AHookedRunOfNothingUpdatesNothing) {
  struct Idle final : Trainer {
    void run_step() override { hooked_session().run({}); }
  } trainer;
  const Operation update = Operation(count.assign_add(1.f).node());
  graph.collections().add("MY_UPDATES", update);
  trainer.train({.callbacks = {RunUpdateOps("MY_UPDATES")}, .steps_per_epoch = 2, .max_epoch = 1});
  EXPECT_EQ(trainer.session().value(count).item(), 0);
}

TEST_F(TriggersTest, UpdatesMayComeFromAnotherCollection) {
  const Variable other = var("other", Array(0.f));
  graph.collections().add("MY_UPDATES", Operation(other.assign_add(1.f).node()));
  Trainer trainer;
  trainer.train_op = Operation(count.assign_add(1.f).node());
  trainer.train({.callbacks = {RunUpdateOps("MY_UPDATES")}, .steps_per_epoch = 3, .max_epoch = 1});
  EXPECT_EQ(trainer.session().value(other).item(), 3);
}

TEST_F(TriggersTest, RunUpdateOpsRunsWhatTheTrainOpDoesNot) {
  const Variable taken = var("taken", Array(0.f)), left = var("left", Array(0.f));
  const Operation first = Operation(taken.assign_add(1.f).node()), second = Operation(left.assign_add(1.f).node());
  graph.collections().add(collection::kUpdateOps, first);
  graph.collections().add(collection::kUpdateOps, second);
  Trainer trainer;
  trainer.train_op = group({first, Operation(count.assign_add(1.f).node())});
  trainer.train({.callbacks = {RunUpdateOps()}, .steps_per_epoch = 4, .max_epoch = 1});
  EXPECT_EQ(trainer.session().value(taken).item(), 4);
  EXPECT_EQ(trainer.session().value(left).item(), 4);
}

// With a run_step() of one's own there is no train_op to look at: each of its ops takes along what it takes along.
TEST_F(TriggersTest, RunUpdateOpsLeavesTheOpsOfAnOwnRunStepTheirUpdates) {
  const Variable often = var("often", Array(0.f)), seldom = var("seldom", Array(0.f)), left = var("left", Array(0.f));
  const Operation first = Operation(often.assign_add(1.f).node());
  Operation second, third = Operation(left.assign_add(1.f).node());
  {
    const ControlDependencies after({first});  // as batch norm's second update of one average
    second = Operation(seldom.assign_add(often.read()).node());
  }
  for (const Operation& update : {first, second, third}) graph.collections().add(collection::kUpdateOps, update);
  class EveryFourth final : public Trainer {
   public:
    void run_step() override { hooked_session().run(iteration() % 4 == 0 ? rare : usual); }
    Operation usual, rare;
  } trainer;
  trainer.usual = group({first, Operation(count.assign_add(1.f).node())});
  trainer.rare = group({second});
  trainer.train({.callbacks = {RunUpdateOps()}, .steps_per_epoch = 8, .max_epoch = 1});
  EXPECT_EQ(trainer.session().value(often).item(), 8);
  EXPECT_EQ(trainer.session().value(seldom).item(), 1 + 5);  // in the first and the fifth run only
  EXPECT_EQ(trainer.session().value(left).item(), 8);
}

}  // namespace
}  // namespace belfry
