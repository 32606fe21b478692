// Signals at random moments of whole processes that train.
#pragma once

#include <chrono>
#include <fstream>
#include <optional>
#include <random>
#include <thread>

#include "belfry/callbacks/inference_runner.h"
#include "belfry/callbacks/model_saver.h"
#include "belfry/loop/run_op.h"
#include "belfry/session/checkpoint.h"
#include "tests/launch/own_process.h"
#include "tests/launch/wide_net.h"

namespace belfry::testing_support {

constexpr char kWatching = 'w', kEnded = 'e';  // said when signals are handled, and when callbacks have ended
constexpr int kNoCheckpoint = 3;

inline int train_in(const std::string& directory) {
  SimpleTrainer trainer;
  try {
    launch_train_with_config(
        {.model = model<WideNet>(),
         .dataflow = wide_data(10),
         .callbacks = {CallbackFactory({.setup_graph = [](Trainer&) { say(kWatching); }}), ModelSaver({.keep = 2}),
                       InferenceRunner(wide_data(20), {ScalarStats("cost")}),
                       CallbackFactory({.after_train = [](Trainer&) { say(kEnded); }})},
         .session_config = {.devices = {{2}}},
         .max_epoch = 8,
         .run_dir = directory + "/run"},
        trainer);
  } catch (const Interrupted& end) {
    const std::optional<std::string> saved = latest_checkpoint(directory + "/run");
    const bool right =
        trainer.global_step() == 0 ? !saved : saved && load_checkpoint(*saved).state.step == trainer.global_step();
    return right ? end.exit_code() : kNoCheckpoint;
  }
  return 0;
}

// The role of the processes that get the signals; once in a program.
inline testing::Environment* add_trainee() { return testing::AddGlobalTestEnvironment(new Role("trainee", train_in)); }

// A signal kills a process that does not handle it yet, or does not any more. One that does ends by itself, and its
// checkpoint is there, unless no step was done. A signal that came too late finds nothing.
inline bool is_right(const Ended& end, int signal) {
  if (WIFSIGNALED(end.status)) return WTERMSIG(end.status) == signal && (end.said.empty() || end.said.back() == kEnded);
  const int code = WEXITSTATUS(end.status);
  return end.said == std::string{kWatching, kEnded} && (code == 0 || code == 128 + signal);
}

// Sends this many signals that find the process alive.
inline void storm(int signals, unsigned seed) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  {
    const TempDir dir;
    ASSERT_EQ(OwnProcess("trainee", dir.path()).wait().status, 0);
  }
  std::mt19937 random(seed);
  std::uniform_int_distribution<Clock::rep> moments(0, (Clock::now() - start).count());
  int killed = 0, stopped = 0;
  while (killed + stopped < signals) {
    const TempDir dir;
    const int signal = random() % 2 == 0 ? SIGINT : SIGTERM;
    const Clock::duration delay(moments(random));
    OwnProcess process("trainee", dir.path());
    std::this_thread::sleep_for(delay);  // the moment is what is tried
    process.send(signal);
    const Ended end = process.wait();
    ASSERT_TRUE(is_right(end, signal)) << "signal " << signal << " after " << delay.count() << " ns: status "
                                       << end.status << ", said '" << end.said << "'\n"
                                       << std::ifstream(dir / "output").rdbuf();
    if (end.status != 0) ++(WIFSIGNALED(end.status) ? killed : stopped);
  }
  std::printf("%d signals: %d in start-up or at the very end, %d in training\n", signals, killed, stopped);
  EXPECT_GT(stopped, 0);
}

}  // namespace belfry::testing_support
