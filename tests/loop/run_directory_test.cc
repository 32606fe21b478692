// A directory is written to by one run at a time, and what another one left there is kept.
#include "belfry/loop/run_directory.h"

#include <errno.h>  // program_invocation_name
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>

#include "belfry/base/file.h"
#include "belfry/loop/triggers.h"
#include "belfry/session/session_init.h"
#include "tests/loop/loop_testing.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

using testing_support::file_error_of;
using testing_support::GraphTest;
using testing_support::put_bytes;
using testing_support::TempDir;
using Names = std::vector<std::string>;

// A process that has the directory until it is killed.
class Holder {
 public:
  explicit Holder(const std::string& directory) {
    int ready[2];
    if (pipe(ready) != 0) std::abort();
    pid_ = fork();
    if (pid_ == 0) {
      const RunDirectory claimed(directory);
      if (write(ready[1], "!", 1) != 1) _exit(1);
      while (true) pause();
    }
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
  }
  ~Holder() { kill_it(); }
  void kill_it() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

TEST(RunDirectory, OfAnotherProcessIsAnErrorThatNamesItUntilItIsDead) {
  const TempDir dir;
  Holder other(dir.path());
  const std::string text = file_error_of([&] { const RunDirectory mine(dir.path()); });
  EXPECT_TRUE(text.starts_with("[run directory] expected '" + dir.path() + "' to be free, got it in use by process " +
                               std::to_string(other.pid()) + " on "))
      << text;
  EXPECT_TRUE(contains(text, std::string(" (") + program_invocation_name + ", since 20")) << text;
  EXPECT_TRUE(text.ends_with("). Choose another run_dir, or end that process.")) << text;
  other.kill_it();
  EXPECT_EQ(dir.names(), Names{"run.lock"}) << "left by the dead";
  {
    const RunDirectory mine(dir.path());
  }
  EXPECT_TRUE(dir.names().empty());
}

TEST(RunDirectory, IsClaimedOnceInAProcessToo) {
  const TempDir dir;
  {
    const RunDirectory first(dir / "a/b");
    const std::string text = file_error_of([&] { const RunDirectory second(dir / "a/b"); });
    EXPECT_TRUE(contains(text, "in use by process " + std::to_string(getpid()))) << text;
    EXPECT_TRUE(contains(text, "or wait until that training, of this program itself, has ended.")) << text;
    EXPECT_EQ(read_file(dir / "a/b/run.lock").find("process " + std::to_string(getpid())), 0u) << "still the first's";
  }
  const RunDirectory second(dir / "a/b");
}

TEST(RunDirectory, AChildThatEndsDoesNotFreeIt) {
  const TempDir dir;
  auto claimed = std::make_unique<RunDirectory>(dir.path());
  const pid_t child = fork();
  if (child == 0) {
    claimed.reset();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  EXPECT_EQ(dir.names(), Names{"run.lock"});
  EXPECT_THROW(RunDirectory(dir.path()), FileError);
}

TEST(RunDirectory, ThatCannotBeWrittenToIsAnError) {
  const TempDir dir;
  put_bytes(dir / "file", "in the way");
  EXPECT_EQ(file_error_of([&] { const RunDirectory d(dir / "file/below"); }),
            "[run directory] expected to write to '" + dir / "file/below" +
                "', got: Not a directory. Fix the cause, or choose another run_dir.");
  EXPECT_TRUE(file_error_of([&] {
                const RunDirectory d("/proc/self");
              }).starts_with("[run directory] expected to write to '/proc/self', got: "));
}

// While it lives, the program works in that directory.
class WorkingIn {
 public:
  explicit WorkingIn(const std::string& directory) { std::filesystem::current_path(directory); }
  ~WorkingIn() { std::filesystem::current_path(before_); }

 private:
  const std::filesystem::path before_ = std::filesystem::current_path();
};

TEST(RunDirectories, ARunOfTheWorkingDirectoryGoesOnByTheBareNameOfItsCheckpoint) {
  class Here final : public Callback {
   public:
    std::vector<Written> writes() const override { return {{"."}}; }
  };
  const TempDir dir;
  put_bytes(dir / "model-12.safetensors", "");
  const WorkingIn inside(dir.path());
  RunDirectories({Here()}, {"model-12"}).keep_previous_run();
  EXPECT_EQ(dir.names(), Names{"model-12.safetensors"});
  RunDirectories({Here()}, {"elsewhere/model-12"}).keep_previous_run();
  EXPECT_EQ(dir.names(), Names{"previous-1"});
}

class TrainersDirectoryTest : public GraphTest {
 protected:
  // Writes a file at the end of each epoch.
  class Writer final : public Callback {
   public:
    void trigger() override { put_bytes(trainer().run_dir() + "/notes.txt", std::to_string(trainer().global_step())); }
    std::vector<Written> writes() const override { return {{trainer().run_dir(), {"notes.*"}}}; }
  };

  void train(Trainer& trainer, Callbacks callbacks, const std::string& directory, SessionInit init = {}) {
    trainer.train_op = Operation(counted.node());
    trainer.train({.callbacks = std::move(callbacks),
                   .session_init = std::move(init),
                   .steps_per_epoch = 2,
                   .max_epoch = 1,
                   .run_dir = directory});
  }
  Variable count = var("count", Array(0.f));
  Tensor counted = count.assign_add(1.f);
  TempDir dir;
};

TEST_F(TrainersDirectoryTest, IsHeldWhileItTrainsAndNoLonger) {
  Trainer first, second;
  std::string during;
  train(first,
        {Writer(),
         testing_support::at("trigger_step",
                             [&](Trainer&) { during = file_error_of([&] { const RunDirectory other(dir.path()); }); })},
        dir.path());
  EXPECT_TRUE(contains(during, "in use by process " + std::to_string(getpid())));
  EXPECT_TRUE(std::filesystem::exists(dir / "notes.txt"));
  EXPECT_FALSE(std::filesystem::exists(dir / "run.lock"));
  train(second, {Writer()}, dir.path());  // while the first is still there
  EXPECT_EQ(read_file(dir / "previous-1/notes.txt"), "2");
  EXPECT_EQ(read_file(dir / "notes.txt"), "2");
}

TEST_F(TrainersDirectoryTest, OfAnotherProcessEndsTrainingBeforeTheFirstStep) {
  put_bytes(dir / "notes.txt", "of the other");
  const Holder other(dir.path());
  Trainer trainer;
  EXPECT_TRUE(contains(file_error_of([&] { train(trainer, {Writer()}, dir.path()); }), "in use by process"));
  EXPECT_EQ(trainer.global_step(), 0);
  EXPECT_EQ(read_file(dir / "notes.txt"), "of the other") << "nothing was moved";
}

TEST_F(TrainersDirectoryTest, ThatCannotBeWrittenToEndsTrainingBeforeTheFirstStep) {
  Trainer trainer;
  EXPECT_TRUE(contains(file_error_of([&] { train(trainer, {Writer()}, "/proc/self"); }),
                       "[run directory] expected to write to '/proc/self'"));
  EXPECT_EQ(trainer.global_step(), 0);
}

TEST_F(TrainersDirectoryTest, IsNotMadeIfNobodyWrites) {
  Trainer trainer;
  train(trainer, {}, dir / "none");
  EXPECT_TRUE(dir.names().empty());
}

// As a callback whose trigger() writes.
TEST_F(TrainersDirectoryTest, EarlierFilesStayWhereTheyAreIfTheStartFails) {
  put_bytes(dir / "notes.txt", "of the other");
  Trainer trainer;
  const Callbacks callbacks{PeriodicTrigger(Writer(), {.every_k_epochs = 1, .before_train = true}),
                            testing_support::at("before_train", [](Trainer&) { throw FileError("no such data"); })};
  EXPECT_EQ(file_error_of([&] { train(trainer, callbacks, dir.path()); }), "no such data");
  EXPECT_EQ(dir.names(), Names{"notes.txt"});
  EXPECT_EQ(read_file(dir / "notes.txt"), "of the other");
}

TEST_F(TrainersDirectoryTest, EarlierFilesStayWhereTheyAreIfTrainingIsStoppedBeforeItStarts) {
  put_bytes(dir / "notes.txt", "of the other");
  Trainer requested, thrown;
  const auto stop = [&](Trainer& trainer, std::function<void(Trainer&)> how) {
    train(trainer,
          {PeriodicTrigger(Writer(), {.every_k_epochs = 1, .before_train = true}),
           testing_support::at("before_train", std::move(how))},
          dir.path());
    EXPECT_EQ(trainer.global_step(), 0);
    EXPECT_EQ(dir.names(), Names{"notes.txt"});
    EXPECT_EQ(read_file(dir / "notes.txt"), "of the other");
  };
  stop(requested, [](Trainer& t) { t.request_stop("signal 2", true); });
  stop(thrown, [](Trainer&) { throw StopTraining("enough"); });
}

TEST_F(TrainersDirectoryTest, WhatIsWrittenBeforeTheFirstStepIsWrittenBehindTheMove) {
  put_bytes(dir / "notes.txt", "of the other");
  Trainer trainer;
  std::string before_step;
  train(trainer,
        {PeriodicTrigger(Writer(), {.before_train = true}),
         testing_support::at("before_epoch", [&](Trainer&) { before_step = read_file(dir / "notes.txt"); })},
        dir.path());
  EXPECT_EQ(before_step, "0");
  EXPECT_EQ(read_file(dir / "previous-1/notes.txt"), "of the other");
}

TEST_F(TrainersDirectoryTest, IsFreeAgainAfterAStartThatFailed) {
  Trainer trainer;
  EXPECT_THROW(train(trainer, {Writer()}, dir.path(), NpzRestore("/nowhere.npz")), FileError);
  const RunDirectory other(dir.path());
}

}  // namespace
}  // namespace belfry
