// The loop: the order of hooks, the counters, the ends. Each point that is easily got wrong has its test.
#include "belfry/loop/trainer.h"

#include <gtest/gtest.h>

#include <thread>

#include "belfry/loop/run_op.h"
#include "belfry/loop/step_counter.h"
#include "belfry/loop/triggers.h"
#include "belfry/nn/initializers.h"
#include "belfry/nn/optimizer.h"
#include "belfry/ops/queue.h"
#include "belfry/ops/random.h"
#include "tests/loop/loop_testing.h"

namespace belfry {
namespace {

using testing_support::at;
using testing_support::Calls;
using testing_support::Recorder;
using testing_support::TrainerTest;
using testing_support::words;

TEST_F(TrainerTest, HooksComeInTheDocumentedOrderWithTheDocumentedCounts) {
  Calls calls;
  Trainer trainer;
  trainer.train_op = train;
  EXPECT_EQ(trainer.train({.callbacks = {Recorder(calls)}, .steps_per_epoch = 2, .max_epoch = 2}), "finished epoch 2");
  const Calls expected{
      "setup_graph epoch 0 global 0 local 0 iteration 0",   "before_train epoch 0 global 0 local 0 iteration 0",
      "before_epoch epoch 1 global 0 local 0 iteration 0",  "before_run epoch 1 global 0 local 0 iteration 0",
      "after_run epoch 1 global 1 local 0 iteration 0",     "trigger_step epoch 1 global 1 local 0 iteration 1",
      "before_run epoch 1 global 1 local 1 iteration 1",    "after_run epoch 1 global 2 local 1 iteration 1",
      "trigger_step epoch 1 global 2 local 1 iteration 2",  "after_epoch epoch 1 global 2 local 2 iteration 2",
      "trigger_epoch epoch 1 global 2 local 2 iteration 2", "before_epoch epoch 2 global 2 local 2 iteration 2",
      "before_run epoch 2 global 2 local 0 iteration 2",    "after_run epoch 2 global 3 local 0 iteration 2",
      "trigger_step epoch 2 global 3 local 0 iteration 3",  "before_run epoch 2 global 3 local 1 iteration 3",
      "after_run epoch 2 global 4 local 1 iteration 3",     "trigger_step epoch 2 global 4 local 1 iteration 4",
      "after_epoch epoch 2 global 4 local 2 iteration 4",   "trigger_epoch epoch 2 global 4 local 2 iteration 4",
      "after_train epoch 2 global 4 local 2 iteration 4"};
  EXPECT_EQ(calls, expected);
  EXPECT_EQ(trainer.session().value(steps).item(), 4);
}

TEST_F(TrainerTest, EpochsRunFromTheStartingOneToTheLastInclusive) {
  std::vector<int> epochs;
  int before = -1;
  Trainer trainer;
  trainer.train_op = train;
  trainer.train({.callbacks = {at("before_train", [&](Trainer& t) { before = t.epoch_num(); }),
                               at("trigger_epoch", [&](Trainer& t) { epochs.push_back(t.epoch_num()); })},
                 .steps_per_epoch = 1,
                 .starting_epoch = 3,
                 .max_epoch = 5});
  EXPECT_EQ(before, 2);
  EXPECT_EQ(epochs, (std::vector<int>{3, 4, 5}));
}

TEST_F(TrainerTest, AStartBehindTheLastEpochIsAnError) {
  Trainer trainer;
  trainer.train_op = train;
  EXPECT_TRUE(contains(error_of([&] { trainer.train({.steps_per_epoch = 1, .starting_epoch = 9, .max_epoch = 8}); }),
                       "[main_loop] expected a starting_epoch of at most max_epoch, the last one, got 9 and 8 "
                       "(at trainer_test.cc:"));
}

TEST_F(TrainerTest, ZeroStepsPerEpochRunCallbacksOnly) {
  Calls calls;
  Trainer trainer;  // no train_op is needed
  trainer.train({.callbacks = {Recorder(calls)}, .steps_per_epoch = 0, .max_epoch = 1});
  EXPECT_EQ(words(calls),
            (Calls{"setup_graph", "before_train", "before_epoch", "after_epoch", "trigger_epoch", "after_train"}));
}

TEST_F(TrainerTest, RegisteredCallbacksComeBeforeTheUsersAndMonitorsLast) {
  struct Last final : Monitor {
    explicit Last(Calls& c) : calls(&c) {}
    void put_scalar(const std::string&, double, std::int64_t) override {}
    void trigger_epoch() override { calls->push_back("monitor"); }
    Calls* calls;
  };
  Calls calls;
  const auto note = [&](const char* text) {
    return at("trigger_epoch", [&calls, text](Trainer&) { calls.emplace_back(text); });
  };
  Trainer trainer;
  trainer.train_op = train;
  trainer.register_callback(note("input"));
  trainer.register_callbacks({note("trainer")});
  trainer.train(
      {.callbacks = {note("user 1"), note("user 2")}, .monitors = {Last(calls)}, .steps_per_epoch = 1, .max_epoch = 1});
  EXPECT_EQ(calls, (Calls{"input", "trainer", "user 1", "user 2", "monitor"}));
}

TEST_F(TrainerTest, TheLoopCountsBetweenTheTrainersCallbacksAndTheUsers) {
  Trainer trainer;
  trainer.train_op = train;
  trainer.register_callback(at("before_train", [](Trainer&) {}));
  Calls calls, names;
  trainer.setup_callbacks({Recorder(calls)});
  for (const Handle<Callback>& callback : trainer.callbacks()) names.push_back(callback->name());
  EXPECT_EQ(names, (Calls{"at before_train", "StepCounter", "Recorder"}));
}

TEST_F(TrainerTest, OnlyTheChiefHasCallbacksThatAreTheChiefsAlone) {
  struct Worker final : Trainer {
    bool is_chief() const override { return false; }
  } trainer;
  struct Everywhere final : Callback {
    bool chief_only() const override { return false; }
  };
  struct ChiefsMonitor final : Monitor {
    void put_scalar(const std::string&, double, std::int64_t) override { FAIL() << "put on a worker"; }
  };
  trainer.setup_callbacks({Everywhere(), at("before_train", [](Trainer&) {})}, {ChiefsMonitor()});
  Calls names;
  for (const Handle<Callback>& callback : trainer.callbacks()) names.push_back(callback->name());
  EXPECT_EQ(names, (Calls{"StepCounter", "Everywhere"}));
  trainer.monitors().put_scalar("loss", 1);
}

TEST_F(TrainerTest, ARunsFilesGoToADirectoryOfTheProgramsName) {
  Trainer trainer;
  EXPECT_EQ(trainer.run_dir(), "train_log/test_loop");
  trainer.set_run_dir("elsewhere");
  EXPECT_EQ(trainer.run_dir(), "elsewhere");
  EXPECT_TRUE(error_of([&] { trainer.set_run_dir(""); }).starts_with("[Trainer] expected a directory"));
}

TEST_F(TrainerTest, AfterAStopTheOthersOfTheHookRunAndTheEpochIsUnfinished) {
  Calls calls;
  Trainer trainer;
  trainer.train_op = train;
  const std::string reason = trainer.train({.callbacks = {at("trigger_step",
                                                             [](Trainer& t) {
                                                               if (t.global_step() == 2)
                                                                 throw StopTraining("the loss is low enough");
                                                             }),
                                                          Recorder(calls)},
                                            .steps_per_epoch = 5,
                                            .max_epoch = 3});
  EXPECT_EQ(reason, "the loss is low enough");
  EXPECT_EQ(words(calls), (Calls{"setup_graph", "before_train", "before_epoch", "before_run", "after_run",
                                 "trigger_step", "before_run", "after_run", "trigger_step", "after_train"}));
}

TEST_F(TrainerTest, ARequestFromAnotherThreadActsBeforeTheNextStep) {
  Trainer trainer;
  trainer.train_op = train;
  const std::string reason = trainer.train(
      {.callbacks = {at("trigger_step", [](Trainer& t) { std::thread([&t] { t.request_stop("asked to"); }).join(); })},
       .steps_per_epoch = 100});
  EXPECT_EQ(reason, "asked to");
  EXPECT_EQ(trainer.session().value(steps).item(), 1);
}

TEST_F(TrainerTest, AnErrorReachesTheCallerAfterEveryAfterTrain) {
  for (const char* when : {"before_train", "before_epoch", "trigger_step", "after_epoch", "trigger_epoch"}) {
    Graph own;
    const GraphScope inside(own);
    Calls calls;
    Trainer trainer;
    trainer.train_op = Operation(var("w", Array(0.f)).assign_add(1.f).node());
    const auto fails = [](Trainer&) { throw std::runtime_error("broken"); };
    EXPECT_THROW(trainer.train({.callbacks = {at(when, fails), Recorder(calls)}, .steps_per_epoch = 1, .max_epoch = 1}),
                 std::runtime_error)
        << when;
    EXPECT_EQ(words(calls).back(), "after_train") << when;
  }
}

TEST_F(TrainerTest, AnErrorInAfterTrainSkipsNobody) {
  Calls calls;
  Trainer trainer;
  trainer.train_op = train;
  EXPECT_EQ(error_of([&] {
              trainer.train({.callbacks = {at("after_train", [](Trainer&) { throw Error("first"); }),
                                           at("after_train", [](Trainer&) { throw Error("second"); }), Recorder(calls)},
                             .steps_per_epoch = 1,
                             .max_epoch = 1});
            }),
            "first");
  EXPECT_EQ(words(calls).back(), "after_train");
}

TEST_F(TrainerTest, TheEndOfTheDataIsACleanEnd) {
  const Queue queue("q", {{"x", f32, {}}});
  Trainer trainer;
  trainer.train_op = Operation(steps.assign_add(queue.dequeue()[0]).node());
  const std::string reason = trainer.train({.callbacks = {at("before_train",
                                                             [&](Trainer& t) {
                                                               t.session().queue(queue)->put({{Array(5.f)}});
                                                               t.session().queue(queue)->close();
                                                             })},
                                            .steps_per_epoch = 10});
  EXPECT_TRUE(reason.starts_with("[queue 'q'] expected a point, got the end of the data")) << reason;
  EXPECT_EQ(trainer.session().value(steps).item(), 5);
}

TEST_F(TrainerTest, ATrainerNeedsSomethingToDo) {
  Trainer trainer;
  EXPECT_TRUE(contains(error_of([&] { trainer.train({.steps_per_epoch = 1, .max_epoch = 1}); }),
                       "[Trainer] expected a train_op or a class that overrides run_step(), got neither (at "
                       "trainer_test.cc:"));
}

TEST_F(TrainerTest, PhasesComeOnceAndInOrder) {
  Trainer trainer;
  trainer.train_op = train;
  EXPECT_EQ(error_of([&] { trainer.main_loop({}); }),
            "[main_loop] expected to be called when the session is initialized, got a call when the graph is being "
            "defined. Next is setup_callbacks().");
  EXPECT_EQ(error_of([&] { trainer.session(); }),
            "[Trainer::session] expected to be called after initialize(), got a call before. Callbacks can use it from "
            "before_train() on.");
  trainer.setup_callbacks({});
  EXPECT_EQ(error_of([&] { trainer.register_callback(CallbackFactory({})); }),
            "[register_callback] expected 'CallbackFactory' before setup_callbacks(), got it after. Pass it to "
            "train().");
  EXPECT_EQ(
      error_of([&] { trainer.setup_callbacks({}); }),
      "[setup_callbacks] expected to be called when the graph is being defined, got a call when the callbacks are "
      "set up. Next is initialize().");
  trainer.initialize();
  EXPECT_EQ(error_of([&] { trainer.initialize(); }),
            "[initialize] expected to be called when the callbacks are set up, got a call when the session is "
            "initialized. Next is main_loop().");
  trainer.main_loop({.steps_per_epoch = 1, .max_epoch = 1});
  EXPECT_EQ(error_of([&] { trainer.main_loop({}); }),
            "[main_loop] expected to be called when the session is initialized, got a call when training has ended. A "
            "trainer trains once: make another one.");
}

TEST_F(TrainerTest, StepsPerEpochMustBeKnown) {
  Trainer trainer;
  EXPECT_TRUE(contains(error_of([&] { trainer.train({}); }),
                       "[train] expected steps_per_epoch, or data that knows its size, got neither (at "
                       "trainer_test.cc:"));
  EXPECT_TRUE(contains(error_of([&] { trainer.train({.steps_per_epoch = -1}); }),
                       "[main_loop] expected steps_per_epoch of 0 or more, got -1 (at trainer_test.cc:"));
}

// What a tensor is in each run.
struct Watch final : Callback {
  explicit Watch(Tensor t, std::vector<double>& s) : tensor(t), seen(&s) {}
  HookRequest before_run(const RunContext&) override { return {.fetches = {tensor}}; }
  void after_run(const RunContext&, const RunValues& v) override { seen->push_back(v[0].item()); }
  Tensor tensor;
  std::vector<double>* seen;
};

TEST_F(TrainerTest, DrawsOfHookedRunsFollowTheGlobalStep) {
  const Tensor noise = random_uniform({}, {}, "noise");
  std::vector<double> drawn;
  Trainer trainer;
  trainer.train_op = train;
  trainer.train({.callbacks = {Watch(noise, drawn), at("trigger_step", [&](Trainer& t) { t.session().run(noise); })},
                 .steps_per_epoch = 2,
                 .max_epoch = 1});
  ASSERT_EQ(drawn.size(), 2u);
  EXPECT_NE(drawn[0], drawn[1]);
  for (std::uint64_t n : {0u, 1u}) EXPECT_EQ(drawn[n], trainer.session().run(noise, {}, {.random_step = n}).item());
}

TEST_F(TrainerTest, TheGlobalStepIsAlsoATensor) {
  const Tensor step = get_global_step();
  EXPECT_EQ(step.node(), get_global_step().node());
  std::vector<double> seen;
  Trainer trainer;
  trainer.train_op = train;
  trainer.train({.callbacks = {Watch(step, seen)}, .steps_per_epoch = 3, .max_epoch = 1});
  EXPECT_EQ(seen, (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(trainer.session().run(step).item(), 3);
}

// Without a current graph a trainer owns one, and ops can be made in the constructor of a class derived from it.
class OwnGraphTrainer final : public Trainer {
 public:
  OwnGraphTrainer() {
    weight = get_variable("w", {.initializer = init::constant(4)});
    step_ = sgd({.learning_rate = 0.25f})->minimize(weight * weight);
  }
  void run_step() override {
    hooked_session().run(step_);
    if (iteration() % 2 == 0) session().run(step_);  // not a step: it is not counted
  }
  Variable weight;

 private:
  Operation step_;
};

TEST(OwnGraphTrainerTest, DecidesWhatAStepIs) {
  OwnGraphTrainer one, two;  // each has its own graph
  EXPECT_NE(&one.graph(), &two.graph());
  one.train({.steps_per_epoch = 3, .max_epoch = 1});
  EXPECT_EQ(one.global_step(), 3);
  EXPECT_EQ(one.iteration(), 3);
  EXPECT_EQ(one.session().value(one.weight).item(), 4. / 32);  // halved five times
  two.train({.steps_per_epoch = 1, .max_epoch = 1});
  EXPECT_EQ(two.session().value(two.weight).item(), 1);
}

TEST(OwnGraphTrainerTest, LeavesNothingBehind) {
  {
    const OwnGraphTrainer trainer;
  }
  EXPECT_EQ(current_graph_or_null(), nullptr);
  Graph graph;
  const GraphScope scope(graph);
  {
    const OwnGraphTrainer trainer;
  }  // uses the current one
  EXPECT_EQ(graph.variables().size(), 1u);
}

TEST(MonitorsTest, KeepWhatWasPutAndTheirStateReadsBack) {
  Graph graph;
  const GraphScope scope(graph);
  Trainer trainer, other;
  trainer.monitors().put_scalar("loss", 0.1);
  trainer.monitors().put_scalar("loss", 1e-310);  // subnormal
  trainer.monitors().put_scalar("loss", 1e300 * 1e300);
  EXPECT_EQ(trainer.monitors().latest("loss"), 1e300 * 1e300);
  EXPECT_EQ(trainer.monitors().latest("other"), std::nullopt);
  other.monitors().restore(trainer.monitors().state());
  EXPECT_EQ(other.monitors().history("loss"), trainer.monitors().history("loss"));
  EXPECT_TRUE(error_of([&] {
                other.monitors().restore("{");
              }).starts_with("[monitors] expected the history that a checkpoint keeps, got something else"));
  EXPECT_EQ(other.monitors().names(), std::vector<std::string>{"loss"});
}

TEST_F(TrainerTest, DecisionsComeBeforeWhatIsSavedAndMayAskForIt) {
  Calls calls;
  Trainer trainer;
  trainer.train_op = train;
  trainer.train({.callbacks = {at("trigger_epoch",
                                  [&](Trainer& t) {
                                    t.after_this_hook([&] { calls.emplace_back("save"); });
                                    t.decide_after_this_hook([&] {
                                      calls.emplace_back("decide");
                                      t.after_this_hook([&] { calls.emplace_back("save what was decided"); });
                                    });
                                  }),
                               at("trigger_epoch", [&](Trainer&) { calls.emplace_back("last callback"); })},
                 .steps_per_epoch = 1,
                 .max_epoch = 1});
  EXPECT_EQ(calls, (Calls{"last callback", "decide", "save", "save what was decided"}));
}

}  // namespace
}  // namespace belfry
