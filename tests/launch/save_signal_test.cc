// SIGUSR1: save now, and go on.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "belfry/base/log.h"
#include "belfry/callbacks/model_saver.h"
#include "belfry/loop/run_op.h"
#include "belfry/session/checkpoint.h"
#include "tests/launch/launch_testing.h"

namespace belfry {
namespace {

class SaveSignalTest : public testing_support::LaunchTest {};

TEST_F(SaveSignalTest, SavesAfterTheRunningStepAndTrainingGoesOn) {
  std::atomic<bool> noticed = false;
  const LogRedirect redirect(
      [&](LogLevel, std::string_view line) {
        if (line.starts_with("[signals] SIGUSR1: a checkpoint is saved after the running step")) noticed = true;
      },
      LogLevel::info);
  TrainConfig c = config();  // three steps an epoch
  c.callbacks = {ModelSaver(), CallbackFactory({.trigger_step = [&](Trainer& t) {
                   if (t.global_step() != 2) return;
                   ::kill(::getpid(), SIGUSR1);
                   while (!noticed) std::this_thread::yield();
                 }})};
  SimpleTrainer trainer;
  EXPECT_EQ(launch_train_with_config(std::move(c), trainer), "finished epoch 2");
  EXPECT_TRUE(std::filesystem::exists(dir / "model-2.safetensors"));
  EXPECT_TRUE(std::filesystem::exists(dir / "model-6.safetensors"));
  const RunPosition at = run_position(load_checkpoint(dir / "model-2").state);
  EXPECT_EQ(at.epoch, 1);
  EXPECT_EQ(at.steps_done, 2);
  EXPECT_EQ(at.hook, "step");
}

}  // namespace
}  // namespace belfry
