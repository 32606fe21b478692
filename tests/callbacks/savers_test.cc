// Checkpoints while training: when they are written, which are kept, what they hold.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "belfry/base/log.h"
#include "belfry/callbacks/model_saver.h"
#include "belfry/loop/step_counter.h"
#include "belfry/loop/triggers.h"
#include "belfry/nn/initializers.h"
#include "belfry/session/checkpoint.h"
#include "belfry/session/session_init.h"
#include "tests/callbacks/callbacks_testing.h"

namespace belfry {
namespace {

class SaversTest : public testing_support::CallbacksTest {
 protected:
  // Puts the value of the epoch.
  static CallbackFactory put(const char* name, std::vector<double> by_epoch) {
    return CallbackFactory({.trigger_epoch = [name, by_epoch = std::move(by_epoch)](Trainer& t) {
      const auto at = static_cast<std::size_t>(t.epoch_num() - 1);
      if (at < by_epoch.size()) t.monitors().put_scalar(name, by_epoch[at]);
    }});
  }
  bool exists(const std::string& file) const { return std::filesystem::exists(directory + "/" + file); }
};

TEST_F(SaversTest, ModelSaverKeepsTheNewestCheckpoints) {
  Trainer trainer;
  run(trainer, {ModelSaver({.keep = 2})});
  EXPECT_FALSE(exists("model-2.safetensors"));
  EXPECT_TRUE(exists("model-4.safetensors"));
  const Checkpoint last = load_checkpoint(directory);
  EXPECT_EQ(last.tensors.at("count").item(), 6);
  EXPECT_EQ(last.state.epoch, 3);
  const nlohmann::json loop = nlohmann::json::parse(last.state.user.at("loop"));
  EXPECT_EQ(loop, nlohmann::json({{"epoch", 3},
                                  {"local_step", 2},
                                  {"global_step", 6},
                                  {"iteration", 6},
                                  {"steps_done", 2},
                                  {"steps_per_epoch", 2},
                                  {"triggered_step", 6},
                                  {"triggered_before", 5},
                                  {"ended", true},
                                  {"hook", ""},
                                  {"callback", ""},
                                  {"deferred", nlohmann::json::array()}}));
}

TEST_F(SaversTest, DirectoriesCanBeChosenAndPeriodsToo) {
  Trainer trainer;
  run(trainer, {PeriodicTrigger(ModelSaver({.directory = directory + "/deep/er"}), {.every_k_steps = 4})});
  EXPECT_TRUE(exists("deep/er/model-4.safetensors"));
  EXPECT_FALSE(exists("deep/er/model-6.safetensors"));
  EXPECT_FALSE(exists("checkpoint"));
}

// The saver is the first callback, but what it saves is the state after the whole hook.
TEST_F(SaversTest, ACheckpointHoldsWhatLaterCallbacksHaveDone) {
  Trainer trainer;
  run(trainer, {ModelSaver(), put("error", {3, 2, 1}), MinSaver("error")});
  const std::map<std::string, std::string> state = load_checkpoint(directory).state.user;
  EXPECT_TRUE(contains(state.at("monitors"), "history.bin")) << state.at("monitors");
  EXPECT_TRUE(contains(state.at("callback 3 MinSaver"), R"("value":"1")"));
}

TEST_F(SaversTest, ASignalSavesTheUnfinishedEpochOnce) {
  Trainer trainer;
  run(trainer, {ModelSaver(), CallbackFactory({.trigger_step = [](Trainer& t) {
                  if (t.global_step() == 3) t.request_stop("signal 15", true);
                }})});
  EXPECT_EQ(load_checkpoint(directory).state.step, 3);
}

// In before_train, and before the first step but after the checks.
TEST_F(SaversTest, ASignalBeforeTheFirstStepSavesNothingAndLeavesTheEarlierRunLast) {
  Trainer first, second, third;
  run(first, {ModelSaver()});
  const auto interrupt = [](Trainer& t) { t.request_stop("signal 2", true); };
  run(second, {PeriodicTrigger(ModelSaver(), {.every_k_epochs = 1, .before_train = true}),
               CallbackFactory({.before_train = interrupt})});
  EXPECT_EQ(load_checkpoint(directory).state.step, 6);
  EXPECT_FALSE(exists("previous-1"));
  run(third, {ModelSaver(), CallbackFactory({.before_epoch = interrupt})});
  EXPECT_EQ(third.global_step(), 0);
  EXPECT_FALSE(exists("model-0.safetensors"));
  EXPECT_EQ(load_checkpoint(directory + "/previous-1").state.step, 6);
}

TEST_F(SaversTest, OptionsThatAreNoUseAreFoundBeforeTheEarlierRunIsMoved) {
  Trainer first, failures, prefix;
  run(first, {ModelSaver()});
  EXPECT_THROW(run(failures, {ModelSaver({.max_failures = 0})}), Error);
  EXPECT_THROW(run(prefix, {put("error", {1}), MinSaver("error", {.prefix = "a/b"})}), FileError);
  EXPECT_EQ(load_checkpoint(directory).state.step, 6);
  EXPECT_FALSE(exists("previous-1"));
}

TEST_F(SaversTest, AnOrdinaryStopSavesNothing) {
  Trainer trainer;
  run(trainer, {ModelSaver(), CallbackFactory({.trigger_step = [](Trainer& t) {
                  if (t.global_step() == 3) t.request_stop("enough");
                }})});
  EXPECT_EQ(load_checkpoint(directory).state.step, 2);
}

// Each on a separate graph, as in another program.
std::int64_t steps_after(const SessionInit& init, bool has_variable) {
  Graph graph;
  const GraphScope scope(graph);
  Trainer trainer;
  const Variable count = get_variable("count", {.initializer = init::zeros(), .trainable = false});
  trainer.train_op = Operation(count.assign_add(1.f).node());
  const Tensor step = has_variable ? get_global_step() : Tensor();
  trainer.train({.session_init = init, .steps_per_epoch = 2, .starting_epoch = 4, .max_epoch = 4});
  if (step) {
    EXPECT_EQ(trainer.session().run(step).item(), static_cast<double>(trainer.global_step()));
  }
  return trainer.global_step();
}

TEST_F(SaversTest, TheStepOfACheckpointCountsOnUnlessItIsLeftOut) {
  Trainer trainer;
  run(trainer, {ModelSaver()});
  for (const bool has_variable : {false, true}) {
    EXPECT_EQ(steps_after(ContinueRun(directory), has_variable), 8);
    EXPECT_EQ(steps_after(ChainInit({ContinueRun(directory), DictRestore({{"count", Array(0.f)}})}), has_variable), 8);
    EXPECT_EQ(steps_after(ContinueRun(directory, {.ignore = {"global_step"}}), has_variable), 2);
  }
}

TEST_F(SaversTest, ADirectoryThatCannotBeMadeIsFoundBeforeTheFirstStep) {
  testing_support::put_bytes(directory + "/file", "in the way");
  Trainer trainer;
  EXPECT_THROW(run(trainer, {ModelSaver({.directory = directory + "/file/below"})}), FileError);
  EXPECT_EQ(trainer.global_step(), 0);
}

TEST_F(SaversTest, ASecondTrainingKeepsTheCheckpointsOfTheFirstWhereverTheyAre) {
  const auto savers = [&] { return Callbacks{ModelSaver(), ModelSaver({.directory = directory + "/own"})}; };
  for (int i = 0; i < 2; ++i) {
    Trainer trainer;
    run(trainer, savers());
  }
  EXPECT_TRUE(exists("previous-1/model-6.safetensors"));
  EXPECT_TRUE(exists("own/previous-1/model-6.safetensors"));
  Trainer trainer;
  trainer.train_op = Operation(counted.node());
  trainer.train({.callbacks = savers(),
                 .session_init = ContinueRun(directory),
                 .steps_per_epoch = 2,
                 .starting_epoch = 4,
                 .max_epoch = 4,
                 .run_dir = directory});
  EXPECT_FALSE(exists("previous-2") || exists("own/previous-2")) << "it is the same run in both";
  EXPECT_EQ(load_checkpoint(directory + "/own").state.step, 8);
}

// A disk on which the checkpoints of these tests have no room.
class FullDiskTest : public SaversTest {
 protected:
  Variable large = var("large", Array::full(f32, {50'000}, 1));
  std::optional<testing_support::FullDisk> disk{std::in_place, 10'000};
};

// As many steps as it takes until the thread that writes has met the full disk; the next save would be far away.
TEST_F(FullDiskTest, AFailedSaveIsReportedAtTheNextStepNotTheNextSave) {
  const testing_support::LogLines log;
  Trainer trainer;
  trainer.train_op = Operation(counted.node());
  trainer.train({.callbacks = {PeriodicTrigger(ModelSaver(), {.every_k_steps = 2'000'000'000, .before_train = true}),
                               CallbackFactory({.trigger_step =
                                                    [](Trainer& t) {
                                                      if (t.monitors().latest("failed_saves/model"))
                                                        t.request_stop("seen");
                                                    }})},
                 .steps_per_epoch = 5'000'000,
                 .max_epoch = 1,
                 .run_dir = directory});
  EXPECT_TRUE(log.text.starts_with("[ModelSaver] [Saver] expected to save step 0 in '" + directory + "', got: "))
      << log.text;
  EXPECT_TRUE(log.text.ends_with("(failure 1 in a row; 3 end training)\n")) << log.text;
}

TEST_F(FullDiskTest, SoManyFailuresInARowEndTraining) {
  const testing_support::LogLines log;
  Trainer trainer;
  trainer.train_op = Operation(counted.node());
  const std::string text = testing_support::file_error_of([&] {
    trainer.train({.callbacks = {ModelSaver()}, .steps_per_epoch = 2, .max_epoch = 100, .run_dir = directory});
  });
  EXPECT_TRUE(
      text.starts_with("[ModelSaver] expected to save, got 3 failures in a row, the last one: [Saver] expected "
                       "to save step 6 in '"))
      << text;
  EXPECT_LE(trainer.global_step(), 8) << "known by the fourth save at the latest";
  EXPECT_EQ(values(trainer, "failed_saves/model"), (std::vector<double>{1, 2, 3}));
}

// When a save has failed.
class FreeSpace final : public Monitor {
 public:
  explicit FreeSpace(std::optional<testing_support::FullDisk>& disk) : disk_(&disk) {}
  void put_scalar(const std::string& name, double, std::int64_t) override {
    if (name.starts_with("failed_saves/")) disk_->reset();
  }

 private:
  std::optional<testing_support::FullDisk>* disk_;
};

TEST_F(FullDiskTest, AFailureThatDoesNotLastIsSurvived) {
  const testing_support::LogLines log;
  Trainer trainer;
  run(trainer, {ModelSaver({.max_failures = 2})}, {FreeSpace(disk)});
  EXPECT_EQ(values(trainer, "failed_saves/model"), std::vector<double>{1});
  EXPECT_FALSE(exists("model-2.safetensors"));
  EXPECT_EQ(load_checkpoint(directory).state.step, 6);
}

TEST_F(FullDiskTest, AValueWhoseSaveFailedIsNotTheBest) {
  const testing_support::LogLines log;
  const Handle<Callback> saver = MinSaver("error");
  Trainer trainer;
  run(trainer, {put("error", {1, 3, 4}), saver}, {FreeSpace(disk)});
  EXPECT_EQ(values(trainer, "failed_saves/min-error"), std::vector<double>{1});
  EXPECT_TRUE(exists("min-error-4.safetensors"));
  EXPECT_FALSE(exists("min-error-6.safetensors"));
  EXPECT_TRUE(contains(saver->state(), R"("step":4,"value":"3")")) << saver->state();
}

// At the 6, which is worse, the saver has seen the 5 saved. The 1 meets a full disk.
TEST_F(FullDiskTest, WhatWasSavedBeforeAFailureIsTheBestAgain) {
  disk.reset();
  const testing_support::LogLines log;
  Trainer trainer;
  trainer.train_op = Operation(counted.node());
  trainer.train({.callbacks = {put("error", {5, 6, 1, 7, 3}), MinSaver("error"),
                               CallbackFactory({.before_epoch =
                                                    [this](Trainer& t) {
                                                      if (t.epoch_num() == 3) disk.emplace(10'000);
                                                    }})},
                 .monitors = {FreeSpace(disk)},
                 .steps_per_epoch = 1,
                 .max_epoch = 5,
                 .run_dir = directory});
  EXPECT_EQ(values(trainer, "failed_saves/min-error"), std::vector<double>{1});
  EXPECT_TRUE(exists("min-error-5.safetensors"));  // the 3
  EXPECT_FALSE(exists("min-error-1.safetensors") || exists("min-error-4.safetensors"));
}

TEST_F(FullDiskTest, AFailureOfTheLastSaveReachesTheCaller) {
  Trainer trainer;
  trainer.train_op = Operation(counted.node());
  EXPECT_TRUE(contains(testing_support::file_error_of([&] {
                         trainer.train(
                             {.callbacks = {ModelSaver()}, .steps_per_epoch = 2, .max_epoch = 1, .run_dir = directory});
                       }),
                       "expected to save step 2"));
}

TEST_F(SaversTest, BestSaversKeepTheBest) {
  Trainer trainer;
  run(trainer, {put("val/error", {0.5, 0.2, 0.3}), MinSaver("val/error"), MaxSaver("val/error", {.prefix = "worst"})});
  EXPECT_TRUE(exists("min-val_error-4.safetensors"));
  EXPECT_TRUE(exists("worst-2.safetensors"));
  EXPECT_FALSE(exists("min-val_error-2.safetensors"));
}

TEST_F(SaversTest, NaNIsNeverTheBest) {
  const testing_support::LogLines log;
  Trainer trainer;
  run(trainer, {put("error", {std::nan(""), 0.5, std::nan("")}), MinSaver("error"), MaxSaver("error")});
  EXPECT_TRUE(exists("min-error-4.safetensors"));
  EXPECT_TRUE(exists("max-error-4.safetensors"));
  EXPECT_TRUE(contains(log.text, "[MinSaver] 'error' is NaN: not saved."));
}

// As in Tensorpack's tutorial: the saver comes before the callback that puts its metric.
TEST_F(SaversTest, ThePlaceInTheListDoesNotMatter) {
  const testing_support::LogLines log;
  Trainer trainer;
  run(trainer, {MinSaver("error"), ModelSaver(), put("error", {3, 1, 2})});
  EXPECT_EQ(log.text, "");
  EXPECT_EQ(find_checkpoint(directory + "/min-error"), directory + "/min-error-4.safetensors");
  const Checkpoint best = load_checkpoint(directory + "/min-error-4.safetensors");
  EXPECT_EQ(best.tensors.at("count").item(), 4);  // the weights that 1 was measured with
  // What it has decided is in the checkpoints of the same moment, whichever saver was first.
  EXPECT_TRUE(contains(load_checkpoint(directory + "/model-4.safetensors").state.user.at("callback 1 MinSaver"),
                       R"("found":true,"seen":2,"step":4,"value":"1")"));
}

// What a saver says of a turn without a new value, with its level.
struct NoNewValue {
  std::vector<std::pair<LogLevel, std::string>> lines{};
  LogRedirect redirect{[this](LogLevel level, std::string_view line) {
                         if (contains(std::string(line), "has no new value")) lines.emplace_back(level, line);
                       },
                       LogLevel::info};
};

// Nothing is wrong with such a metric: it is said once, and is no warning.
TEST_F(SaversTest, AMetricOfEverySecondEpochIsWatchedInThose) {
  const NoNewValue said;
  Trainer trainer;
  trainer.train_op = Operation(counted.node());
  trainer.train(
      {.callbacks = {PeriodicTrigger(put("error", {9, 2, 9, 1, 9, 3}), {.every_k_epochs = 2}), MinSaver("error")},
       .steps_per_epoch = 1,
       .max_epoch = 6,
       .run_dir = directory});
  ASSERT_EQ(said.lines.size(), 1u);
  EXPECT_EQ(said.lines[0].first, LogLevel::info);
  EXPECT_EQ(said.lines[0].second,
            "[MinSaver] 'error' has no new value in epoch 1: nothing is saved. This is logged only once.");
  EXPECT_TRUE(exists("min-error-4.safetensors"));
}

TEST_F(SaversTest, TheLastValueSinceThePreviousTurnCountsAndItsStepIsSaid) {
  const testing_support::LogLines log;
  Trainer trainer;
  run(trainer, {put("error", {5, 4}), PeriodicTrigger(MinSaver("error"), {.every_k_epochs = 3})});
  EXPECT_EQ(log.text,
            "[MinSaver] 'error' was put at step 4, but the model is saved at step 6. Give this callback the period of "
            "the one "
            "that puts it. This is logged only once.\n");
  EXPECT_TRUE(exists("min-error-6.safetensors"));
}

TEST_F(SaversTest, AValueOfBeforeTrainingDoesNotCount) {
  const NoNewValue said;
  Trainer trainer;
  run(trainer, {PeriodicTrigger(put("error", {9, 5}), {.every_k_epochs = 2}), MinSaver("error"),
                CallbackFactory({.before_train = [](Trainer& t) { t.monitors().put_scalar("error", 0); }})});
  EXPECT_TRUE(exists("min-error-4.safetensors"));  // 5, not 0
  EXPECT_EQ(said.lines.size(), 1u);
}

TEST_F(SaversTest, AMetricThatNeverCameIsReportedAtTheEnd) {
  const testing_support::LogLines log;
  Trainer trainer;
  run(trainer, {put("errors", {1, 2, 3}), MinSaver("error")});
  EXPECT_EQ(trainer.global_step(), 6);
  EXPECT_EQ(
      log.text,
      "[MinSaver] 'error' was never put, nothing was saved. Did you mean 'errors'? Add the callback that puts it.\n");
}

// A callback that declares nothing may put anything, but hardly what differs by a letter from what is declared.
TEST_F(SaversTest, AMetricThatIsNearlyADeclaredOneIsAnErrorWhoeverElseMayPutSome) {
  Trainer trainer;
  EXPECT_EQ(
      error_of([&] {
        run(trainer,
            {CallbackFactory({.setup_graph = [](Trainer& t) { t.monitors().declare(*t.callbacks()[1], "errors"); },
                              .name = "Mine"}),
             MinSaver("error")});
      }),
      "[MinSaver] expected a metric that some callback puts, got 'error'. Did you mean 'errors'? This training puts "
      "'errors'. Add the callback that puts it, or, if it is run_step() or Mine, make it declare the metric in "
      "setup_graph(): trainer().monitors().declare(*this, \"error\").");
  EXPECT_EQ(trainer.global_step(), 0);
}

TEST_F(SaversTest, AnyOtherMetricMayBePutByACallbackThatDeclaresNothingAndTheLogSaysHowToChangeThat) {
  std::string text;
  const LogRedirect redirect(
      [&](LogLevel, std::string_view line) {
        if (contains(line, "[MinSaver] no callback")) text += line;
      },
      LogLevel::info);
  Trainer trainer;
  run(trainer, {CallbackFactory({.setup_graph = [](Trainer& t) { t.monitors().declare(*t.callbacks()[1], "cost"); },
                                 .trigger_epoch = [](Trainer& t) { t.monitors().put_scalar("loss", 1); },
                                 .name = "Mine"}),
                MinSaver("loss")});
  EXPECT_TRUE(exists("min-loss-2.safetensors"));
  EXPECT_EQ(text,
            "[MinSaver] no callback has declared the metric 'loss'; run_step() or Mine may put it. The callback that "
            "puts it should declare it in setup_graph(): trainer().monitors().declare(*this, \"loss\"). One that puts "
            "none, or declares all, should override declares_metrics() to return true: then a metric that no callback "
            "puts is an error at the start.");
}

TEST_F(SaversTest, BestSaversGoOnFromTheirState) {
  MinSaver saver("error");
  saver.restore(R"({"found":true,"seen":3,"step":4,"value":"0.25"})");
  EXPECT_EQ(saver.best()->value, 0.25);
  EXPECT_EQ(saver.state(), R"({"found":true,"seen":3,"step":4,"value":"0.25"})");
}

// As if it had been killed when model-6 was written, and min-error-6 was not yet.
TEST_F(SaversTest, ABestThatWasNotWrittenAnyMoreIsSavedWhenTheRunGoesOn) {
  Trainer first, second;
  run(first, {ModelSaver(), put("error", {3, 2, 1}), MinSaver("error")});
  const Checkpoint lost = load_checkpoint(directory + "/min-error-6.safetensors");
  for (const char* file : {"min-error-6.safetensors", "min-error-6.json", "min-error.index"})
    std::filesystem::remove(directory + "/" + file);
  second.train_op = Operation(counted.node());
  second.train({.callbacks = {ModelSaver(), put("error", {3, 2, 1, 5}), MinSaver("error")},
                .session_init = ContinueRun(directory),
                .steps_per_epoch = 2,
                .starting_epoch = 4,
                .max_epoch = 4,
                .run_dir = directory});
  const Checkpoint saved = load_checkpoint(directory + "/min-error-6.safetensors");
  EXPECT_EQ(saved.tensors.at("count").item(), 6);
  EXPECT_EQ(saved.state.epoch, lost.state.epoch);
  EXPECT_EQ(saved.state.user.at("monitors"), lost.state.user.at("monitors"));
  EXPECT_FALSE(exists("min-error-8.safetensors"));
}

// The value that was put before the checkpoint, and looked at, is no new one after it.
TEST_F(SaversTest, ARestoredBestSaverDoesNotLookAtOldValuesAgain) {
  const NoNewValue said;
  const Handle<Callback> saver = MinSaver("error");
  Trainer trainer;
  run(trainer, {CallbackFactory({.before_train =
                                     [&](Trainer& t) {
                                       t.monitors().restore(R"({"error":[[2,"0.5"]]})");
                                       saver->restore(R"({"found":true,"seen":1,"step":2,"value":"0.75"})");
                                     }}),
                saver});
  EXPECT_EQ(said.lines.size(), 1u);
  EXPECT_TRUE(contains(saver->state(), R"("value":"0.75")"));
}

}  // namespace
}  // namespace belfry
