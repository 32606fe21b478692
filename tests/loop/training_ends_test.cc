// How a training ends, whatever the end was: by a stop, by an error, by the end of the data.
#include <gtest/gtest.h>

#include <thread>

#include "belfry/ops/check_numerics.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/queue.h"
#include "tests/loop/loop_testing.h"

namespace belfry {
namespace {

using testing_support::at;
using testing_support::Calls;
using testing_support::Recorder;
using testing_support::words;

struct OddError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws in before_run() or after_run() of a certain run.
template <class E>
class Thrower final : public Callback {
 public:
  Thrower(bool before, std::int64_t step) : before_(before), step_(step) {}
  HookRequest before_run(const RunContext&) override {
    if (before_ && trainer().global_step() == step_) throw E("thrown in before_run");
    return {};
  }
  void after_run(const RunContext&, const RunValues&) override {
    if (!before_ && trainer().global_step() == step_ + 1) throw E("thrown in after_run");
  }

 private:
  bool before_;
  std::int64_t step_;
};

class TrainingEndsTest : public testing_support::TrainerTest {
 protected:
  Calls calls;
  std::string run(Trainer& trainer, Handle<Callback> ends) {
    if (!trainer.train_op) trainer.train_op = train;
    return trainer.train({.callbacks = {std::move(ends), Recorder(calls)}, .steps_per_epoch = 3, .max_epoch = 2});
  }
};

TEST_F(TrainingEndsTest, TheLogSaysWhoseHookFailedAndTheErrorIsThrownAsItIs) {
  const auto logged = [&](Handle<Callback> ends) {
    const testing_support::LogLines log;
    Trainer trainer;
    trainer.train_op = train;
    EXPECT_THROW(run(trainer, std::move(ends)), OddError);
    return log.text;
  };
  const std::string thrower = "[" + Thrower<OddError>(true, 0).name() + "] ";
  const std::string end = ", at global_step 2: its error ends the training.\n";
  EXPECT_EQ(logged(Thrower<OddError>(true, 2)), thrower + "before_run failed in epoch 1" + end);
  EXPECT_EQ(logged(Thrower<OddError>(false, 1)), thrower + "after_run failed in epoch 1" + end);
  const auto odd = [](Trainer& t) {
    if (t.global_step() == 2) throw OddError("odd");
  };
  EXPECT_EQ(logged(at("trigger_step", odd)), "[at trigger_step] trigger_step failed in epoch 1" + end);
  EXPECT_EQ(logged(at("after_train", [](Trainer&) { throw OddError("odd"); })),
            "[at after_train] after_train failed in epoch 2, at global_step 6: its error ends the training.\n");
}

TEST_F(TrainingEndsTest, AStopInBeforeRunLetsTheOthersSeeThatRunAndRunsNothing) {
  Trainer trainer;
  EXPECT_EQ(run(trainer, Thrower<StopTraining>(true, 1)), "thrown in before_run");
  EXPECT_EQ(words(calls), (Calls{"setup_graph", "before_train", "before_epoch", "before_run", "after_run",
                                 "trigger_step", "before_run", "after_train"}));
  EXPECT_EQ(trainer.session().value(steps).item(), 1);
}

TEST_F(TrainingEndsTest, AStopInAfterRunCountsTheRunAndTheStepIsNotTriggered) {
  Trainer trainer;
  EXPECT_EQ(run(trainer, Thrower<StopTraining>(false, 1)), "thrown in after_run");
  EXPECT_EQ(words(calls), (Calls{"setup_graph", "before_train", "before_epoch", "before_run", "after_run",
                                 "trigger_step", "before_run", "after_run", "after_train"}));
  EXPECT_EQ(trainer.session().value(steps).item(), 2);
  EXPECT_EQ(trainer.global_step(), 2);
  EXPECT_EQ(trainer.iteration(), 1);
}

TEST_F(TrainingEndsTest, AStopInRunStepIsCleanToo) {
  struct Own final : Trainer {
    void run_step() override { throw StopTraining("seen enough"); }
  } trainer;
  EXPECT_EQ(run(trainer, Recorder(calls)), "seen enough");
  EXPECT_EQ(words(calls).back(), "after_train");
}

TEST_F(TrainingEndsTest, AStopInAnyHookLetsTheOthersHaveTheirTurn) {
  for (const char* when : {"before_train", "before_epoch", "after_epoch", "trigger_epoch"}) {
    Graph own;
    const GraphScope inside(own);
    calls.clear();
    Trainer trainer;
    trainer.train_op = Operation(var("w", Array(0.f)).assign_add(1.f).node());
    EXPECT_EQ(run(trainer, at(when, [](Trainer&) { throw StopTraining("here"); })), "here");
    ASSERT_GE(calls.size(), 2u);
    const bool finished = std::string(when) == "after_epoch";
    EXPECT_EQ(words(calls)[calls.size() - (finished ? 3 : 2)], when);  // the next callback still had its turn
    EXPECT_EQ(words(calls)[calls.size() - 2], finished ? "trigger_epoch" : when);
    EXPECT_EQ(words(calls).back(), "after_train");
  }
}

// As after a request_stop(): what is finished gets its checkpoint, whatever ends training.
TEST_F(TrainingEndsTest, AnEpochWhoseStepsAreDoneHasItsTriggerAlsoAfterAStopOrTheDatasEnd) {
  const auto ends_at = [this](const char* when, std::int64_t step, std::function<void()> how) {
    Graph own;
    const GraphScope inside(own);
    calls.clear();
    Trainer trainer;
    trainer.train_op = Operation(var("w", Array(0.f)).assign_add(1.f).node());
    EXPECT_EQ(run(trainer, at(when,
                              [=](Trainer& t) {
                                if (t.global_step() == step) how();
                              })),
              "here");
    const std::vector<std::string> all = words(calls);
    return Calls(all.end() - 4, all.end());
  };
  for (const std::function<void()>& how : {std::function<void()>([] { throw StopTraining("here"); }),
                                           std::function<void()>([] { throw EndOfData("here"); })}) {
    const Calls finished{"trigger_step", "after_epoch", "trigger_epoch", "after_train"};
    EXPECT_EQ(ends_at("trigger_step", 3, how), finished);
    EXPECT_EQ(ends_at("after_epoch", 3, how), finished);
    EXPECT_EQ(ends_at("trigger_epoch", 3, how), finished);
    EXPECT_EQ(ends_at("trigger_step", 2, how), (Calls{"before_run", "after_run", "trigger_step", "after_train"}));
  }
}

TEST_F(TrainingEndsTest, TheDatasEndInAfterTrainIsTooLateToMatter) {
  Trainer trainer;
  EXPECT_EQ(run(trainer, at("after_train", [](Trainer&) { throw EndOfData("late"); })), "finished epoch 2");
}

TEST_F(TrainingEndsTest, AnErrorWinsOverAStopOfTheSameHook) {
  Trainer trainer;
  trainer.train_op = train;
  EXPECT_THROW(trainer.train({.callbacks = {at("trigger_step", [](Trainer&) { throw StopTraining("enough"); }),
                                            at("trigger_step", [](Trainer&) { throw OddError("broken"); })},
                              .steps_per_epoch = 1}),
               OddError);
}

// Whichever is first: what has failed is not a clean end.
TEST_F(TrainingEndsTest, AnErrorWinsOverAStopAndTheDatasEndOfTheSameRunsHooks) {
  const auto run_all = [](Callbacks callbacks) {
    Graph own;
    const GraphScope inside(own);
    Trainer trainer;
    trainer.train_op = Operation(var("w", Array(0.f)).assign_add(1.f).node());
    return trainer.train({.callbacks = std::move(callbacks), .steps_per_epoch = 2, .max_epoch = 1});
  };
  for (const bool before : {true, false}) {
    const std::string text = before ? "thrown in before_run" : "thrown in after_run";
    const Handle<Callback> stop = Thrower<StopTraining>(before, 0), end = Thrower<EndOfData>(before, 0),
                           error = Thrower<FileError>(before, 0);
    EXPECT_EQ(error_of<FileError>([&] { run_all({stop, error}); }), text);
    EXPECT_EQ(error_of<FileError>([&] { run_all({end, error}); }), text);
    EXPECT_EQ(error_of<FileError>([&] { run_all({error, stop, end}); }), text);
    EXPECT_EQ(error_of<FileError>([&] { run_all({end, error, Thrower<OddError>(before, 0)}); }), text);
    EXPECT_EQ(run_all({stop, end}), text);
  }
}

TEST_F(TrainingEndsTest, AStopInAfterTrainIsTooLateToMatter) {
  Trainer trainer;
  EXPECT_EQ(run(trainer, at("after_train", [](Trainer&) { throw StopTraining("late"); })), "finished epoch 2");
  EXPECT_EQ(words(calls).back(), "after_train");
}

TEST_F(TrainingEndsTest, ErrorsOfRunsKeepTheirTypeAndText) {
  for (const bool before : {true, false}) {
    Graph own;
    const GraphScope inside(own);
    Trainer trainer;
    trainer.train_op = Operation(var("w", Array(0.f)).assign_add(1.f).node());
    EXPECT_EQ(error_of<OddError>([&] { run(trainer, Thrower<OddError>(before, 1)); }),
              before ? "thrown in before_run" : "thrown in after_run");
    EXPECT_EQ(words(calls).back(), "after_train");
  }
  struct Own final : Trainer {
    void run_step() override { throw OddError("thrown in run_step"); }
  } trainer;
  EXPECT_EQ(error_of<OddError>([&] { run(trainer, Recorder(calls)); }), "thrown in run_step");
  EXPECT_EQ(words(calls).back(), "after_train");
}

// The loop fails, and so does what ends the steps beside it.
TEST_F(TrainingEndsTest, ErrorsAfterTheFirstAreLogged) {
  struct Own final : Trainer {
    void run_step() override { throw OddError("the first"); }
    void end_steps() override { throw FileError("the second"); }
  } trainer;
  const testing_support::LogLines lines;
  EXPECT_EQ(error_of<OddError>(
                [&] { run(trainer, at("after_train", [](Trainer&) { throw std::runtime_error("the third"); })); }),
            "the first");
  const std::string first = "[Trainer] training ends with this error, which will be thrown: the first\n";
  EXPECT_TRUE(lines.text.starts_with(first)) << lines.text;
  EXPECT_EQ(lines.text.find(first, 1), std::string::npos) << "once";
  EXPECT_TRUE(
      contains(lines.text, "[Trainer] besides the error that will be thrown, end_steps failed too: the second\n"))
      << lines.text;
  EXPECT_TRUE(contains(lines.text,
                       "[at after_train] besides the error that will be thrown, after_train failed too: the third\n"))
      << lines.text;
}

TEST_F(TrainingEndsTest, AnErrorThatEndStepsThrowsOnceMoreIsNotLogged) {
  struct Own final : Trainer {
    void run_step() override { std::rethrow_exception(error); }
    void end_steps() override { std::rethrow_exception(error); }
    std::exception_ptr error = std::make_exception_ptr(OddError("a tower fell"));
  } trainer;
  const testing_support::LogLines lines;
  EXPECT_EQ(error_of<OddError>([&] { run(trainer, Recorder(calls)); }), "a tower fell");
  EXPECT_EQ(lines.text, "");
}

TEST_F(TrainingEndsTest, AStopInEndStepsIsTooLateToMatter) {
  struct Own final : Trainer {
    void end_steps() override { throw StopTraining("late"); }
  } trainer;
  EXPECT_EQ(run(trainer, Recorder(calls)), "finished epoch 2");
}

TEST_F(TrainingEndsTest, WhatIsNoStdExceptionReachesTheCallerToo) {
  Trainer trainer;
  trainer.train_op = train;
  EXPECT_THROW(trainer.train({.callbacks = {at("after_train", [](Trainer&) { throw 42; }), Recorder(calls)},
                              .steps_per_epoch = 1,
                              .max_epoch = 1}),
               int);
  EXPECT_EQ(words(calls).back(), "after_train");
}

TEST_F(TrainingEndsTest, ErrorsOfStepsNameTheLineThatTrains) {
  Trainer trainer;
  trainer.train_op = group({train, Operation(check_numerics(log(steps * 0.f - 1.f), "the cost").node())});
  const std::string text = error_of<NumericError>([&] { run(trainer, Recorder(calls)); });
  EXPECT_TRUE(contains(text, "(called at training_ends_test.cc:")) << text;
}

TEST_F(TrainingEndsTest, NumericErrorsOfStepsNameTheStep) {
  Trainer trainer;
  trainer.train_op = group({train, Operation(check_numerics(log(2.f - steps), "the cost").node())});
  const std::string text =
      error_of<NumericError>([&] { trainer.train({.steps_per_epoch = 2, .max_epoch = 2}); });  // log(0) in the third
  EXPECT_TRUE(text.ends_with(" (step 3, in epoch 2)")) << text;
}

// The epoch that was asked not to begin has not begun.
TEST_F(TrainingEndsTest, ARequestAtTheEndOfAnEpochEndsThatEpoch) {
  Trainer trainer;
  EXPECT_EQ(run(trainer, at("trigger_step",
                            [](Trainer& t) {
                              if (t.local_step() == 2) t.request_stop("asked to");
                            })),
            "asked to");
  EXPECT_EQ(trainer.epoch_num(), 1);
  EXPECT_EQ(words(calls)[calls.size() - 2], "trigger_epoch");
  EXPECT_EQ(trainer.session().value(steps).item(), 3);
}

TEST_F(TrainingEndsTest, OfSeveralRequestsTheFirstReasonCountsAndAnyMaySave) {
  Trainer trainer;
  EXPECT_EQ(run(trainer, at("trigger_step",
                            [](Trainer& t) {
                              t.request_stop("first");
                              t.request_stop("second", true);
                            })),
            "first");
  EXPECT_TRUE(trainer.save_at_end());
}

TEST_F(TrainingEndsTest, ARequestWhileTheLoopRunsElsewhereIsNotLost) {
  Trainer trainer;
  std::thread other;
  const std::string reason =
      trainer.train({.callbacks = {at("before_epoch",
                                      [&](Trainer& t) {
                                        if (t.epoch_num() == 1)
                                          other = std::thread([&t] { t.request_stop("from outside"); });
                                      })},
                     .steps_per_epoch = 0,
                     .max_epoch = 2'000'000'000});
  other.join();
  EXPECT_EQ(reason, "from outside");
}

// With or without save: before the first step nothing is finished for whose sake it may go on.
TEST_F(TrainingEndsTest, ARequestEndsAWaitInBeforeTrainOfAnyCallback) {
  const Queue queue("q", {{"x", f32, {}}});
  const Tensor taken = queue.dequeue()[0];
  for (const bool save : {false, true}) {
    calls.clear();
    std::jthread other;
    Trainer trainer;
    EXPECT_EQ(run(trainer, at("before_train",
                              [&](Trainer& t) {
                                other = std::jthread([&t, save] { t.request_stop("signal 2", save); });
                                t.session().run(taken);
                              })),
              "signal 2");
    EXPECT_EQ(words(calls), (Calls{"setup_graph", "before_train", "after_train"}));
  }
}

// It ends the step's own wait, not that of a callback in it, whose data come.
TEST_F(TrainingEndsTest, ARequestInAStepLetsARunOfACallbacksOwnWaitForItsData) {
  const Queue queue("q", {{"x", f32, {}}}, {.capacity = 1});
  const Tensor taken = queue.dequeue()[0];
  class Runs final : public Callback {
   public:
    Runs(const Queue& queue, const Tensor& taken, double& got) : queue_(&queue), taken_(taken), got_(&got) {}
    void after_run(const RunContext&, const RunValues&) override {
      trainer().request_stop("enough");
      trainer().run_interruptibly([&] {
        const std::jthread producer([points = trainer().session().queue(*queue_)] { points->put({{Array(3.f)}}); });
        *got_ = trainer().session().run(taken_).item();
      });
    }

   private:
    const Queue* queue_;
    Tensor taken_;
    double* got_;
  };
  double got = 0;
  Trainer trainer;
  EXPECT_EQ(run(trainer, Runs(queue, taken, got)), "enough");
  EXPECT_EQ(got, 3);
  EXPECT_EQ(trainer.global_step(), 1);
}

// A saver saves the state at the end of the hook, after all callbacks.
TEST_F(TrainingEndsTest, PostponedActionsFollowTheHooksLastCallback) {
  std::vector<std::string> order;
  const auto note = [&](const char* text) {
    return at("trigger_epoch", [&order, text](Trainer&) { order.emplace_back(text); });
  };
  Trainer trainer;
  trainer.train_op = train;
  trainer.train({.callbacks = {at("trigger_epoch",
                                  [&](Trainer& t) {
                                    t.after_this_hook([&order] { order.emplace_back("saved"); });
                                    order.emplace_back("saver");
                                  }),
                               note("last")},
                 .steps_per_epoch = 1,
                 .max_epoch = 1});
  EXPECT_EQ(order, (std::vector<std::string>{"saver", "last", "saved"}));
  trainer.after_this_hook([&] { order.clear(); });  // outside of hooks: at once
  EXPECT_TRUE(order.empty());
}

TEST_F(TrainingEndsTest, PostponedActionsHappenEvenIfTheHookFails) {
  bool saved = false;
  Trainer trainer;
  trainer.train_op = train;
  EXPECT_THROW(
      trainer.train({.callbacks = {at("trigger_epoch", [&](Trainer& t) { t.after_this_hook([&] { saved = true; }); }),
                                   at("trigger_epoch", [](Trainer&) { throw OddError("broken"); })},
                     .steps_per_epoch = 1}),
      OddError);
  EXPECT_TRUE(saved);
}

TEST_F(TrainingEndsTest, AFailingPostponedActionIsNotHiddenByAStop) {
  Trainer trainer;
  trainer.train_op = train;
  EXPECT_THROW(trainer.train({.callbacks = {at("trigger_epoch",
                                               [&](Trainer& t) {
                                                 t.after_this_hook([] { throw FileError("[save] disk full"); });
                                                 throw StopTraining("enough");
                                               })},
                              .steps_per_epoch = 1}),
               FileError);
}

}  // namespace
}  // namespace belfry
