// A second training in the same directory takes nothing away from the first.
#include "belfry/loop/internal/previous_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "belfry/base/file.h"
#include "belfry/callbacks/inference_runner.h"
#include "belfry/callbacks/model_saver.h"
#include "belfry/callbacks/monitors/json_writer.h"
#include "belfry/loop/run_op.h"
#include "tests/launch/launch_testing.h"

namespace belfry {
namespace {

using testing_support::data;
using testing_support::file_error_of;
using testing_support::LaunchTest;
using testing_support::put_bytes;
using testing_support::TempDir;

using Names = std::set<std::string>;

Names names_in(const std::string& directory) {
  Names out;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) out.insert(entry.path().filename());
  return out;
}

class PreviousRunTest : public LaunchTest {
 protected:
  // With a saver of each kind. Training as much as `epochs` makes each run's files different.
  TrainConfig run(int epochs) {
    TrainConfig c = config();
    c.callbacks = {ModelSaver(), InferenceRunner(data() | batch(4), {ScalarStats("cost")}),
                   MinSaver("validation_cost")};
    c.max_epoch = epochs;
    return c;
  }
  static void launch(TrainConfig c) {
    SimpleTrainer trainer;
    launch_train_with_config(std::move(c), trainer);
  }
};

TEST_F(PreviousRunTest, ASecondRunKeepsWhatTheFirstLeft) {
  launch(run(2));
  const Names first = names_in(dir.path());
  EXPECT_EQ(first, (Names{"checkpoint", "history.bin", "min-validation_cost-6.json",
                          "min-validation_cost-6.safetensors", "min-validation_cost.index", "model-3.json",
                          "model-3.safetensors", "model-6.json", "model-6.safetensors", "run.json", "stats.json"}));
  const std::string best = read_file(dir / "min-validation_cost-6.safetensors");
  std::vector<std::string> lines;
  {
    const LogRedirect log([&](LogLevel, std::string_view line) { lines.emplace_back(line); }, LogLevel::info);
    launch(run(1));
  }
  EXPECT_EQ(names_in(dir / "previous-1"), first);
  EXPECT_EQ(read_file(dir / "previous-1/min-validation_cost-6.safetensors"), best);
  EXPECT_EQ(load_checkpoint(dir / "previous-1").state.step, 6);
  EXPECT_EQ(names_in(dir.path()),
            (Names{"checkpoint", "history.bin", "min-validation_cost-3.json", "min-validation_cost-3.safetensors",
                   "min-validation_cost.index", "model-3.json", "model-3.safetensors", "previous-1", "run.json",
                   "stats.json"}));
  const std::string line =
      "'" + dir.path() + "' held the files of an earlier run: now they are in '" + (dir / "previous-1") + "'.";
  EXPECT_EQ(std::ranges::count(lines, line), 1);
}

TEST_F(PreviousRunTest, AThirdRunTakesTheNextNumber) {
  launch(run(2));
  launch(run(1));
  launch(run(3));
  EXPECT_EQ(load_checkpoint(dir / "previous-1").state.step, 6);
  EXPECT_EQ(load_checkpoint(dir / "previous-2").state.step, 3);
  EXPECT_EQ(load_checkpoint(dir.path()).state.step, 9);
}

TEST_F(PreviousRunTest, ARunThatRestoresFromItsDirectoryIsTheSameRun) {
  launch(run(1));
  for (const std::string& from : {dir.path(), dir / "model-3"}) {
    TrainConfig c = run(1);
    c.session_init = ChainInit({ContinueRun(from)});
    launch(std::move(c));
    EXPECT_FALSE(names_in(dir.path()).contains("previous-1"));
  }
}

TEST_F(PreviousRunTest, ARunMayStartFromAnEarlierOneThatWasMoved) {
  launch(run(1));
  launch(run(1));
  TrainConfig c = run(1);
  c.session_init = SaverRestore(dir / "previous-1");
  launch(std::move(c));
  EXPECT_TRUE(names_in(dir.path()).contains("previous-2"));
}

TEST_F(PreviousRunTest, ARunThatGoesOnInTheMiddleCountsOnAndReplacesNothing) {
  launch(run(2));
  const std::string second = read_file(dir / "model-6.safetensors");
  TrainConfig c = run(3);
  c.session_init = ContinueRun(dir.path());
  c.starting_epoch = 3;
  launch(std::move(c));
  EXPECT_EQ(load_checkpoint(dir.path()).state.step, 9);
  EXPECT_EQ(read_file(dir / "model-6.safetensors"), second);
  EXPECT_EQ(load_checkpoint(latest_checkpoint(dir.path(), "min-validation_cost.index").value()).state.step, 9)
      << "trained further, and better";
}

// The best of the whole run stays, whatever the epochs after the restart come to.
TEST_F(PreviousRunTest, ARunThatGoesOnKeepsTheBestOfBefore) {
  const auto with_metric = [&](std::vector<double> by_epoch, int first) {
    TrainConfig c = config();
    c.callbacks = {ModelSaver(),
                   CallbackFactory({.trigger_epoch =
                                        [by_epoch, first](Trainer& t) {
                                          const auto at = static_cast<std::size_t>(t.epoch_num() - first);
                                          t.monitors().put_scalar("error", by_epoch.at(at));
                                        }}),
                   MinSaver("error")};
    c.starting_epoch = first;
    c.max_epoch = first + static_cast<int>(by_epoch.size()) - 1;
    return c;
  };
  launch(with_metric({0.5, 0.0182}, 1));
  const std::string best = read_file(dir / "min-error-6.safetensors");
  TrainConfig worse = with_metric({0.894}, 3);
  worse.session_init = ContinueRun(dir.path());
  worse.callbacks.insert(worse.callbacks.begin(),
                         CallbackFactory({.name = "new"}));  // the others have other places now
  launch(std::move(worse));
  EXPECT_EQ(read_file(dir / "min-error-6.safetensors"), best);
  EXPECT_FALSE(names_in(dir.path()).contains("min-error-9.safetensors"));
  TrainConfig better = with_metric({0.01}, 4);
  better.session_init = ContinueRun(dir.path());
  launch(std::move(better));
  EXPECT_TRUE(names_in(dir.path()).contains("min-error-12.safetensors"));
  EXPECT_FALSE(names_in(dir.path()).contains("min-error-6.safetensors"));
}

// The model of a run in the same directory, for another run: the files that it comes from are kept.
TEST_F(PreviousRunTest, ARunThatTakesTheModelAloneIsAnotherRun) {
  launch(run(2));
  const std::string best = read_file(dir / "min-validation_cost-6.safetensors");
  TrainConfig c = run(1);
  c.session_init = SaverRestore(dir.path());
  launch(std::move(c));
  EXPECT_EQ(load_checkpoint(dir / "previous-1").state.step, 6);
  EXPECT_EQ(read_file(dir / "previous-1/min-validation_cost-6.safetensors"), best);
  EXPECT_EQ(load_checkpoint(dir.path()).state.step, 3) << "counted anew";
}

TEST_F(PreviousRunTest, LogsOfAnotherNameMoveAlong) {
  for (int i = 0; i < 2; ++i) {
    TrainConfig c = run(1);
    c.monitors = {JSONWriter("numbers.json")};
    launch(std::move(c));
  }
  EXPECT_TRUE(names_in(dir / "previous-1").contains("numbers.json"));
  EXPECT_FALSE(names_in(dir.path()).contains("numbers.json.old"));
}

TEST_F(PreviousRunTest, ARunThatDoesNotStartMovesNothing) {
  launch(run(1));
  const Names before = names_in(dir.path());
  TrainConfig c = run(1);
  c.session_init = NpzRestore("/nowhere.npz");
  EXPECT_THROW(launch(std::move(c)), FileError);
  EXPECT_EQ(names_in(dir.path()), before);
}

TEST(MovePreviousRun, LeavesWhatIsNotARunsAlone) {
  const TempDir dir;
  const Names others{"config.json", "config-2.json", "labels.index", "log.txt", "data-3", "model.safetensors"};
  for (const std::string& name : others) put_bytes(dir / name, "mine");
  std::filesystem::create_directory(dir / "model-4.safetensors");
  EXPECT_EQ(move_previous_run(dir.path()), "");
  EXPECT_EQ(move_previous_run(dir / "not-there"), "");
  put_bytes(dir / "stats.json.old", "[]");
  EXPECT_EQ(move_previous_run(dir.path()), dir / "previous-1");
  EXPECT_EQ(names_in(dir / "previous-1"), Names{"stats.json.old"});
  EXPECT_EQ(names_in(dir.path()).size(), others.size() + 2);
}

// A file that cannot be moved simulates a program that ends at that point, for each point.
TEST(MovePreviousRun, LosesNothingWhenItIsInterruptedAndCompletesTheMoveLater) {
  const Names files{"checkpoint", "model-3.json", "model-3.safetensors", "stats.json"};
  for (const std::string& obstacle : files) {
    const TempDir dir;
    for (const std::string& name : files) put_bytes(dir / name, name);
    const std::string partial = dir / "previous-1.partial";
    std::filesystem::create_directories(partial + "/" + obstacle + "/full");
    const std::string text = file_error_of([&] { move_previous_run(dir.path()); });
    EXPECT_TRUE(contains(
        text, "[run directory] expected to move what an earlier run left in '" + dir.path() + "' aside, got: "))
        << text;
    EXPECT_TRUE(contains(text, "Nothing is lost. Fix the cause, or choose another run_dir.")) << text;
    std::filesystem::remove_all(partial + "/" + obstacle);
    EXPECT_EQ(move_previous_run(dir.path()), dir / "previous-1");
    EXPECT_EQ(names_in(dir.path()), Names{"previous-1"});
    EXPECT_EQ(names_in(dir / "previous-1"), files);
    for (const std::string& name : files) EXPECT_EQ(read_file(dir / ("previous-1/" + name)), name);
  }
}

}  // namespace
}  // namespace belfry
