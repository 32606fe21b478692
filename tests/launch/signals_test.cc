// Ctrl-C and SIGTERM while a training runs.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <thread>

#include "belfry/base/signal_mask.h"
#include "belfry/callbacks/model_saver.h"
#include "belfry/input/flow_inputs.h"
#include "belfry/launch/internal/signal_watch.h"
#include "belfry/loop/run_op.h"
#include "tests/launch/launch_testing.h"

namespace belfry {
namespace {

class SignalsTest : public testing_support::LaunchTest {
 protected:
  // A training without end that gets the signal after its fourth step.
  TrainConfig interrupted(int signal) {
    TrainConfig c = config();
    c.max_epoch = 1'000'000'000;
    c.callbacks = {ModelSaver(), CallbackFactory({.trigger_step =
                                                      [signal](Trainer& t) {
                                                        if (t.global_step() == 4) std::raise(signal);
                                                      },
                                                  .after_train = [this](Trainer&) { ++after_trains; }})};
    return c;
  }
  static int exit_code_of(TrainConfig c, SingleCostTrainer& trainer) {
    try {
      launch_train_with_config(std::move(c), trainer);
    } catch (const Interrupted& end) {
      EXPECT_EQ(end.exit_code(), 128 + end.signal());
      return end.exit_code();
    }
    return 0;
  }
  int after_trains = 0;
};

std::atomic<int> handled_by_host = 0;
void count(int) { ++handled_by_host; }

// While it lives, a handler of the program's own is there, or another disposition.
class OwnHandler {
 public:
  explicit OwnHandler(int signal, void (*handler)(int) = count)
      : signal_(signal), handler_(handler), before_(std::signal(signal, handler)) {
    handled_by_host = 0;
  }
  ~OwnHandler() { std::signal(signal_, before_); }
  OwnHandler(const OwnHandler&) = delete;
  OwnHandler& operator=(const OwnHandler&) = delete;
  bool is_there() const {
    struct sigaction now{};
    ::sigaction(signal_, nullptr, &now);
    return now.sa_handler == handler_;
  }

 private:
  int signal_;
  void (*handler_)(int);
  void (*before_)(int);
};

// Until the trainer has been told, which another thread does.
void raise_and_wait(const Trainer& trainer, int signal) {
  std::raise(signal);
  while (!trainer.stop_requested()) std::this_thread::yield();
}

TEST_F(SignalsTest, ASignalFinishesTheStepSavesAndThrows) {
  for (const int signal : {SIGINT, SIGTERM}) {
    after_trains = 0;
    const OwnHandler own(signal);
    SimpleTrainer trainer;
    EXPECT_EQ(exit_code_of(interrupted(signal), trainer), 128 + signal);
    EXPECT_EQ(load_checkpoint(dir.path()).state.step, trainer.global_step());
    EXPECT_EQ(trainer.iteration(), trainer.global_step());
    EXPECT_EQ(after_trains, 1);
    EXPECT_TRUE(own.is_there());  // again
    std::filesystem::remove_all(dir.path());
  }
}

TEST_F(SignalsTest, ASignalInTheLastStepCountsToo) {
  TrainConfig c = interrupted(SIGTERM);
  c.steps_per_epoch = 4;
  c.max_epoch = 1;
  SimpleTrainer trainer;
  EXPECT_EQ(exit_code_of(std::move(c), trainer), 128 + SIGTERM);
}

TEST_F(SignalsTest, HandlersAreBackAfterAnErrorToo) {
  const OwnHandler own(SIGINT);
  TrainConfig c = config();
  c.callbacks = {CallbackFactory({.before_epoch = [&](Trainer&) {
    EXPECT_FALSE(own.is_there());
    throw FileError("broken");
  }})};
  SimpleTrainer trainer;
  EXPECT_THROW(launch_train_with_config(std::move(c), trainer), FileError);
  EXPECT_TRUE(own.is_there());
}

TEST_F(SignalsTest, WithoutTheOptionSignalsAreTheProgramsOwn) {
  const OwnHandler own(SIGINT);
  TrainConfig c = interrupted(SIGINT);
  c.handle_signals = false;
  c.max_epoch = 2;
  SimpleTrainer trainer;
  EXPECT_EQ(launch_train_with_config(std::move(c), trainer), "finished epoch 2");
}

TEST_F(SignalsTest, TheTrainerAloneInstallsNothing) {
  const OwnHandler own(SIGINT);
  SimpleTrainer trainer;
  trainer.setup_graph(
      testing_support::Net().inputs(), QueueInput(testing_support::data() | batch(4)),
      [](const Inputs& in) { return testing_support::Net().build_graph(in); },
      [] { return sgd({.learning_rate = 0.1f}); });
  bool there = false;
  trainer.train(
      {.callbacks = {CallbackFactory({.before_train = [&](Trainer&) { there = own.is_there(); }})}, .max_epoch = 1});
  EXPECT_TRUE(there);
}

TEST_F(SignalsTest, ATrainerThatIsCalledDirectlyCanHandleThemToo) {
  Trainer trainer;
  const OwnHandler own(SIGTERM);
  {
    const StopOnSignal signals(trainer);
    EXPECT_NO_THROW(signals.throw_if_interrupted());
    const auto raise = [](Trainer& t) {
      if (t.local_step() == 2) raise_and_wait(t, SIGTERM);
    };
    trainer.train_op = Operation(constant(1.f).node());
    EXPECT_EQ(trainer.train({.callbacks = {CallbackFactory({.trigger_step = raise})},
                             .steps_per_epoch = 1'000'000'000,
                             .max_epoch = 1}),
              "signal 15");
    EXPECT_EQ(error_of<Interrupted>([&] { signals.throw_if_interrupted(); }),
              "[training] ended by signal 15 after 3 of 1000000000 steps of epoch 1 (global_step 3). There was no "
              "ModelSaver to save it.");
  }
  EXPECT_TRUE(own.is_there());
}

TEST_F(SignalsTest, TheErrorSaysHowFarItCameAndWhereTheCheckpointIs) {
  const auto text_of = [&](CallbackFunctions when) {
    TrainConfig c = config();
    c.callbacks = {ModelSaver(), CallbackFactory(std::move(when))};
    SimpleTrainer trainer;
    return error_of<Interrupted>([&] { launch_train_with_config(std::move(c), trainer); });
  };
  EXPECT_EQ(text_of({.before_train = [](Trainer& t) { raise_and_wait(t, SIGINT); }}),
            "[training] ended by signal 2 before any step was done: nothing was saved.");
  EXPECT_EQ(text_of({.trigger_step =
                         [](Trainer& t) {
                           if (t.global_step() == 2) raise_and_wait(t, SIGINT);
                         }}),
            "[training] ended by signal 2 after 2 of 3 steps of epoch 1 (global_step 2). The latest checkpoint is '" +
                dir / "model-2.safetensors'.");
}

// Without a directory, which a killed process would not remove.
TEST(SignalWatchTest, ASecondSignalEndsTheProgramAtOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto twice = [] {
    const SignalWatch watch([](int) {});
    std::raise(SIGINT);
    std::raise(SIGINT);
  };
  EXPECT_EXIT(twice(), testing::KilledBySignal(SIGINT), "");
}

// As on another thread that was in the handler when the watch ended: nobody's file is written to, the next watch does
// not take it for a signal of its own, and whoever handles signals now gets it.
TEST_F(SignalsTest, AHandlerThatComesTooLatePassesTheSignalOn) {
  const OwnHandler own(SIGINT);
  struct sigaction installed{};
  int asked = 0;
  {
    const SignalWatch watch([&](int) { ++asked; });
    ::sigaction(SIGINT, nullptr, &installed);
  }
  {
    const SignalWatch watch([&](int) { ++asked; });
  }
  installed.sa_handler(SIGINT);
  EXPECT_EQ(handled_by_host, 1);
  {
    SignalWatch watch([&](int) { ++asked; });
    EXPECT_EQ(watch.caught(), 0);
  }
  EXPECT_EQ(asked, 0);
  {
    SignalWatch watch([&](int) { ++asked; });
    std::raise(SIGTERM);
    EXPECT_EQ(watch.caught(), SIGTERM);
  }
  EXPECT_EQ(asked, 1);
}

TEST_F(SignalsTest, ASignalThatNobodyAskedAboutIsPassedOn) {
  const OwnHandler own(SIGINT);
  {
    const SignalWatch watch([](int) {});
    std::raise(SIGINT);
    EXPECT_EQ(handled_by_host, 0);
  }
  EXPECT_EQ(handled_by_host, 1);
  {
    SignalWatch watch([](int) {});
    std::raise(SIGINT);
    EXPECT_EQ(watch.caught(), SIGINT);
  }
  EXPECT_EQ(handled_by_host, 1);
  const auto fail_after_a_signal = [] {
    const SignalWatch watch([](int) {});
    std::raise(SIGINT);
    throw FileError("broken");
  };
  EXPECT_THROW(fail_after_a_signal(), FileError);
  EXPECT_EQ(handled_by_host, 1);
}

TEST_F(SignalsTest, ASignalThatTheParentIgnoresStaysIgnored) {
  const OwnHandler ignored(SIGINT, SIG_IGN);
  {
    SignalWatch watch([](int) {});
    EXPECT_TRUE(ignored.is_there());
    std::raise(SIGINT);
    EXPECT_EQ(watch.caught(), 0);
    std::raise(SIGTERM);
    EXPECT_EQ(watch.caught(), SIGTERM);
  }
  EXPECT_TRUE(ignored.is_there());
}

// The thread that watches is there for it.
TEST_F(SignalsTest, ASignalIsTakenWhileAllOtherThreadsCompute) {
  std::atomic<int> asked = 0;
  SignalWatch watch([&](int signal) {
    asked = signal;
    asked.notify_all();
  });
  const SignalsBlocked computing;
  ::kill(::getpid(), SIGINT);
  asked.wait(0);
  EXPECT_EQ(watch.caught(), SIGINT);
}

// Where the signal finds the training's own thread, in a callback that may use oneDNN by itself.
TEST_F(SignalsTest, TheHandlerHasAnAlternateStack) {
  const SignalWatch watch([](int) {});
  struct sigaction installed{};
  ::sigaction(SIGINT, nullptr, &installed);
  EXPECT_TRUE(installed.sa_flags & SA_ONSTACK);
  stack_t stack{};
  ::sigaltstack(nullptr, &stack);
  EXPECT_FALSE(stack.ss_flags & SS_DISABLE);
}

TEST_F(SignalsTest, AChildThatWasForkedDoesNotHandleThem) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer runs no handlers in a child of a program with threads";
#endif
  SignalWatch watch([](int) {});
  const pid_t child = ::fork();
  if (child == 0) {
    std::raise(SIGTERM);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  EXPECT_EQ(watch.caught(), 0);
}

// Callbacks may start programs: what those inherit is the program's own mask.
TEST_F(SignalsTest, CallbacksRunWithTheProgramsMask) {
  TrainConfig c = config();
  int looked = 0;
  const auto look = [&](Trainer&) {
    sigset_t mask;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    EXPECT_EQ(sigismember(&mask, SIGTERM), 0);
    ++looked;
  };
  c.callbacks = {CallbackFactory({.before_train = look, .trigger_step = look, .trigger_epoch = look})};
  SimpleTrainer trainer;
  launch_train_with_config(std::move(c), trainer);
  EXPECT_EQ(looked, 1 + 6 + 2);
}

TEST_F(SignalsTest, EveryWatchUsesTheSamePipe) {
  const auto open_files = [] {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return std::distance(begin(files), end(files));
  };
  {
    const SignalWatch watch([](int) {});
  }
  const auto before = open_files();
  for (int i = 0; i < 3; ++i) {
    const SignalWatch watch([](int) {});
    EXPECT_EQ(open_files(), before);
  }
}

TEST_F(SignalsTest, OneTrainingHandlesSignalsAtATime) {
  const SignalWatch watch([](int) {});
  SimpleTrainer trainer;
  EXPECT_EQ(error_of([&] { launch_train_with_config(config(), trainer); }),
            "[signals] expected one training that handles signals at a time, got a second one. Set "
            "TrainConfig::handle_signals = false in all but one.");
}

}  // namespace
}  // namespace belfry
