// What a checkpoint says about its run's position, and how a continued run uses it.
#include <gtest/gtest.h>

#include <filesystem>

#include "belfry/base/log.h"
#include "belfry/callbacks/model_saver.h"
#include "belfry/loop/training_state.h"
#include "belfry/loop/triggers.h"
#include "belfry/session/checkpoint.h"
#include "belfry/session/session_init.h"
#include "tests/callbacks/callbacks_testing.h"

namespace belfry {
namespace {

class RunPositionTest : public testing_support::CallbacksTest {};

// As a validation that is interrupted.
void cut_short(Trainer& trainer) {
  if (trainer.epoch_num() != 2) return;
  trainer.request_stop("signal 2", true);
  trainer.run_interruptibly([] {});
}

TEST_F(RunPositionTest, ACheckpointSaysWhichEpochComesNext) {
  const auto position = [&](Callbacks callbacks) {
    std::filesystem::remove_all(directory);
    Trainer trainer;
    run(trainer, std::move(callbacks));
    return run_position(load_checkpoint(directory).state);
  };
  const auto expect = [](const RunPosition& at, int epoch, int steps_done, bool ended, int next_epoch) {
    EXPECT_EQ(at.epoch, epoch);
    EXPECT_EQ(at.steps_done, steps_done);
    EXPECT_EQ(at.steps_per_epoch, 2);
    EXPECT_EQ(at.ended, ended);
    EXPECT_EQ(at.next_epoch, next_epoch);
  };
  expect(position({ModelSaver()}), 3, 2, true, 4);
  const auto in_a_step = [](Trainer& t) {
    if (t.global_step() == 3) t.request_stop("signal 2", true);
  };
  expect(position({ModelSaver(), CallbackFactory({.trigger_step = in_a_step})}), 2, 1, false, 2);
  expect(position({ModelSaver(), CallbackFactory({.trigger_epoch = cut_short})}), 2, 2, false, 2);
  expect(position({PeriodicTrigger(ModelSaver(), {.before_train = true})}), 0, 0, true, 1);
  expect(position({PeriodicTrigger(ModelSaver(), {.every_k_steps = 5})}), 3, 1, false, 3);
  const auto early = [](Trainer& t) {
    if (t.epoch_num() == 2) throw StopTraining("good enough");
  };
  expect(position({ModelSaver(), CallbackFactory({.trigger_epoch = early})}), 2, 2, true, 3);
  EXPECT_EQ(run_position({.epoch = 5}).next_epoch, 6);
}

TEST_F(RunPositionTest, ARunThatGoesOnSaysWhereItStoodAndWarnsOfAnotherEpoch) {
  const auto log_of = [&](std::optional<int> starting_epoch, std::int64_t steps) {
    std::string text;
    const LogRedirect redirect(
        [&](LogLevel, std::string_view line) {
          if (contains(line, "ContinueRun") || contains(line, "main_loop")) text += std::string(line) + "\n";
        },
        LogLevel::info);
    Trainer trainer;
    trainer.train_op = Operation(counted.node());
    trainer.train({.session_init = ContinueRun(directory),
                   .steps_per_epoch = steps,
                   .starting_epoch = starting_epoch,
                   .max_epoch = 3});
    return text;
  };
  Trainer first, second;
  run(first, {ModelSaver(), CallbackFactory({.trigger_step = [](Trainer& t) {
                if (t.global_step() == 3) t.request_stop("signal 2", true);
              }})});
  const std::string line = "[ContinueRun] continues '" + directory +
                           "/model-3.safetensors', global_step 3: 1 of 2 steps of epoch 2 were done.\n";
  EXPECT_EQ(log_of(2, 2), line);
  const std::string warned = log_of(1, 2);
  EXPECT_TRUE(warned.starts_with(line + "[main_loop] expected starting_epoch 2, because in the continued run 1 of "
                                        "2 steps of epoch 2 were done, got 1 (at run_position_test.cc:"))
      << warned;
  EXPECT_TRUE(warned.ends_with("). Omit starting_epoch, unless this is intended.\n")) << warned;
  run(second, {ModelSaver(), CallbackFactory({.trigger_epoch = cut_short})});
  const std::string cut =
      "[ContinueRun] continues '" + directory +
      "/model-4.safetensors', global_step 4: epoch 2 was done, except for what callbacks do at its end.\n";
  EXPECT_EQ(log_of(2, 2), cut);
  EXPECT_EQ(log_of(std::nullopt, 2), cut);
}

}  // namespace
}  // namespace belfry
