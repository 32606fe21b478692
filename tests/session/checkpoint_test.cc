#include "belfry/session/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <limits>

#include "belfry/base/error.h"
#include "belfry/base/file.h"
#include "belfry/session/checkpoint_writer.h"
#include "belfry/session/safetensors.h"
#include "tests/session/session_testing.h"
#include "tests/support/arrays.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

using testing_support::Arrays;
using testing_support::expect_same;
using testing_support::file_error_of;
using testing_support::FullDisk;
using testing_support::LogLines;
using testing_support::one_of_each;
using testing_support::put_bytes;
using testing_support::TempDir;
using Names = std::vector<std::string>;

Names sorted(Names names) {
  std::ranges::sort(names);
  return names;
}

Arrays tensors_of(float value) { return {{"w", Array::full(f32, {1000}, value)}}; }

CheckpointState full_state() {
  return {.step = 7,
          .epoch = 3,
          .seeds = {{"graph", std::numeric_limits<std::uint64_t>::max()}, {"data", 0}},
          .random_counter = std::uint64_t{1} << 63,
          .versions = {{"belfry", "0.1.0"}},
          .model = {"fc/W", "bn/mean/EMA"},
          .user = {{"dataflow", "{\"flow\":\"list\"}"}, {"", "line\nline"}, {"\xc3\xa9", std::string("a\0b", 3)}}};
}

float value_of(const std::string& path) { return load_checkpoint(path).tensors.at("w").values<float>()[999]; }

// A process that dies while it saves `step`, before the given stage.
void crash_while_saving(const std::string& directory, std::int64_t step, float value, int keep, SaveStage stage) {
  const pid_t child = fork();
  if (child == 0) {
    CheckpointWriter writer({.directory = directory, .keep = keep, .on_stage = [stage](SaveStage s) {
                               if (s == stage) raise(SIGKILL);
                             }});
    writer.write(step, tensors_of(value), {.epoch = static_cast<std::int64_t>(value)});
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
}

pid_t dead_process() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

TEST(Checkpoint, RoundTripIsExact) {
  TempDir dir;
  CheckpointWriter writer({.directory = dir.path()});
  EXPECT_EQ(writer.write(7, one_of_each(), full_state()), dir / "model-7.safetensors");
  EXPECT_EQ(sorted(dir.names()), (Names{"checkpoint", "model-7.json", "model-7.safetensors"}));
  const Checkpoint loaded = load_checkpoint(dir / "model-7.safetensors");
  expect_same(loaded.tensors, one_of_each());
  EXPECT_EQ(loaded.state, full_state());
  EXPECT_EQ(load_checkpoint(dir / "model-7").state, full_state()) << "the extension may be left out";
  EXPECT_EQ(checkpoint_state_from_json(read_file(dir / "model-7.json"), ""), full_state());
}

TEST(Checkpoint, TheLatestIsTheOneSavedLastWhateverItsStep) {
  TempDir dir;
  EXPECT_EQ(latest_checkpoint(dir.path()), std::nullopt);
  EXPECT_EQ(latest_checkpoint(dir / "none"), std::nullopt);
  CheckpointWriter writer({.directory = dir / "a/b"});  // made on the way
  for (const int step : {200, 100}) writer.write(step, tensors_of(1), {});
  EXPECT_EQ(latest_checkpoint(dir / "a/b"), dir / "a/b/model-100.safetensors");
  EXPECT_EQ(latest_checkpoint(dir / "a/b/"), dir / "a/b/model-100.safetensors");
  std::filesystem::remove(dir / "a/b/model-100.safetensors");
  LogLines log;
  EXPECT_EQ(latest_checkpoint(dir / "a/b"), dir / "a/b/model-200.safetensors");
  EXPECT_TRUE(contains(log.text, "model-100.safetensors' is in the index but does not exist"));
}

TEST(Checkpoint, ADirectoryMeansItsLatestCheckpoint) {
  TempDir dir;
  CheckpointWriter writer({.directory = dir / "run"});
  for (const int step : {1, 2}) writer.write(step, tensors_of(static_cast<float>(step)), {});
  EXPECT_EQ(value_of(dir / "run"), 2);
  EXPECT_EQ(value_of(dir / "run/"), 2);
  std::filesystem::create_directory(dir / "run/model-1");
  EXPECT_EQ(value_of(dir / "run/model-1"), 1) << "a checkpoint of this name comes first";
  EXPECT_EQ(file_error_of([&] { load_checkpoint(dir.path()); }),
            "[checkpoint] expected a directory with checkpoints, got '" + dir.path() +
                "', which has no index file ('checkpoint'). Name one of its files if there is one, like '" +
                dir / "model-100" + "'.");
  for (const int step : {1, 2}) std::filesystem::remove(dir / ("run/model-" + std::to_string(step) + ".safetensors"));
  LogLines log;
  EXPECT_TRUE(contains(file_error_of([&] { load_checkpoint(dir / "run"); }),
                       "whose index lists none that still exists. Name one of its files"));
}

TEST(Checkpoint, TheNameOfAnIndexMeansItsLatestCheckpoint) {
  TempDir dir;
  CheckpointWriter model({.directory = dir.path()});
  CheckpointWriter best({.directory = dir.path(), .prefix = "min-error", .index = "min-error.index"});
  for (const int step : {9, 10}) model.write(step, tensors_of(1), {});
  for (const int step : {3, 4}) best.write(step, tensors_of(static_cast<float>(step)), {});
  EXPECT_EQ(find_checkpoint(dir / "min-error"), dir / "min-error-4.safetensors");
  EXPECT_EQ(value_of(dir / "min-error"), 4);
  EXPECT_EQ(value_of(dir / "min-error.index"), 4);
  EXPECT_EQ(value_of(dir / "min-error-3"), 3);
  EXPECT_EQ(find_checkpoint(dir / "checkpoint"), dir / "model-10.safetensors");

  const auto refused = [&](const std::string& name) {
    const std::string text = file_error_of([&] { find_checkpoint(dir / name); });
    const std::string start =
        "[checkpoint] expected a checkpoint or a directory of checkpoints, got '" + dir / name + "', which is neither.";
    EXPECT_TRUE(text.starts_with(start)) << text;
    return text.substr(std::min(start.size(), text.size()));
  };
  EXPECT_EQ(refused("model"), " Did you mean 'model-10'?");
  EXPECT_EQ(refused("max-error"), " Did you mean 'min-error-3' or 'min-error-4'?");
  EXPECT_EQ(refused("another"), "");
  EXPECT_EQ(refused("no-such-directory/model"), "");

  for (const char* step : {"3", "4"})
    std::filesystem::remove(dir / ("min-error-" + std::string(step) + ".safetensors"));
  LogLines log;
  EXPECT_EQ(file_error_of([&] { load_checkpoint(dir / "min-error"); }),
            "[checkpoint] expected a checkpoint, got '" + dir / "min-error" + "', whose index '" +
                dir / "min-error.index" + "' lists none that still exists.");
}

TEST(Checkpoint, OldOnesArePrunedAlsoByALaterWriter) {
  TempDir dir;
  put_bytes(dir / "model-5.safetensors", "somebody's own");
  put_bytes(dir / "model-best-1.json", "somebody's own");
  {
    CheckpointWriter writer({.directory = dir.path(), .keep = 2});
    for (int step = 1; step <= 3; ++step) writer.write(step, tensors_of(1), {});
    EXPECT_EQ(writer.kept(), (Names{dir / "model-2.safetensors", dir / "model-3.safetensors"}));
  }
  CheckpointWriter writer({.directory = dir.path(), .keep = 2});
  writer.write(4, tensors_of(1), {});
  EXPECT_EQ(sorted(dir.names()), (Names{"checkpoint", "model-3.json", "model-3.safetensors", "model-4.json",
                                        "model-4.safetensors", "model-5.safetensors", "model-best-1.json"}));
  writer.write(3, tensors_of(2), {});  // again: it is the newest now
  EXPECT_EQ(writer.kept(), (Names{dir / "model-4.safetensors", dir / "model-3.safetensors"}));
  EXPECT_EQ(value_of(dir / "model-3"), 2);

  CheckpointWriter all({.directory = dir / "all", .keep = 0});
  for (int step = 0; step < 3; ++step) all.write(step, tensors_of(1), {});
  EXPECT_EQ(all.kept().size(), 3u);
}

TEST(Checkpoint, SaversOfOneDirectoryHaveAnIndexEach) {
  TempDir dir;
  CheckpointWriter model({.directory = dir.path(), .keep = 1});
  CheckpointWriter best({.directory = dir.path(), .prefix = "min-error", .keep = 1, .index = "checkpoint-min"});
  for (int step = 1; step <= 2; ++step) {
    model.write(step, tensors_of(1), {});
    best.write(step, tensors_of(2), {});
  }
  EXPECT_EQ(latest_checkpoint(dir.path()), dir / "model-2.safetensors");
  EXPECT_EQ(latest_checkpoint(dir.path(), "checkpoint-min"), dir / "min-error-2.safetensors");
  EXPECT_EQ(file_error_of([&] { CheckpointWriter other({.directory = dir.path(), .prefix = "min"}); }),
            "[Saver] expected checkpoints called 'min-<step>' in the index '" + dir / "checkpoint" +
                "', got 'model-2' of another saver. Give each saver of a directory its own .index.");
}

class CrashTest : public testing::TestWithParam<SaveStage> {};

TEST_P(CrashTest, TheLastGoodCheckpointIsLoadableAndSavingGoesOn) {
  TempDir dir;
  CheckpointWriter({.directory = dir.path(), .keep = 1}).write(1, tensors_of(1), {.epoch = 1});
  crash_while_saving(dir.path(), 2, 2, 1, GetParam());
  const bool was_complete = GetParam() != SaveStage::tensors;  // in the index or not
  const auto latest = latest_checkpoint(dir.path());
  EXPECT_EQ(latest, was_complete ? dir / "model-2.safetensors" : dir / "model-1.safetensors");
  EXPECT_EQ(value_of(*latest), was_complete ? 2 : 1);
  EXPECT_EQ(load_checkpoint(*latest).state.epoch, was_complete ? 2 : 1);

  CheckpointWriter next({.directory = dir.path(), .keep = 1});
  next.write(2, tensors_of(3), {.epoch = 3});
  EXPECT_EQ(value_of(*latest_checkpoint(dir.path())), 3);
  EXPECT_EQ(sorted(dir.names()), (Names{"checkpoint", "model-2.json", "model-2.safetensors"}))
      << "what the crash left behind is gone";
}

// The hard case: the only checkpoint is replaced by another of the same step.
TEST_P(CrashTest, ValuesAndStateAreOfTheSameSaveWhenAStepIsSavedAgain) {
  TempDir dir;
  CheckpointWriter({.directory = dir.path(), .keep = 1}).write(1, tensors_of(1), {.epoch = 1});
  crash_while_saving(dir.path(), 1, 2, 1, GetParam());
  const Checkpoint loaded = load_checkpoint(*latest_checkpoint(dir.path()));
  const int expected = GetParam() == SaveStage::tensors ? 1 : 2;
  EXPECT_EQ(loaded.tensors.at("w").item(0), expected);
  EXPECT_EQ(loaded.state.epoch, expected);
}

std::string name_of_stage(const testing::TestParamInfo<SaveStage>& info) {
  return Names{"tensors", "state", "index", "prune"}[static_cast<std::size_t>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(BeforeEachStage, CrashTest,
                         testing::Values(SaveStage::tensors, SaveStage::state, SaveStage::index, SaveStage::prune),
                         name_of_stage);

TEST(Checkpoint, AnErrorAtAnyStageKeepsWhatWasThereAndLeavesNoRest) {
  for (const SaveStage stage : {SaveStage::tensors, SaveStage::state, SaveStage::index}) {
    TempDir dir;
    bool fails = false;
    CheckpointWriter writer({.directory = dir.path(), .keep = 1, .on_stage = [&](SaveStage s) {
                               if (fails && s == stage) throw FileError("no");
                             }});
    writer.write(1, tensors_of(1), {});
    fails = true;
    EXPECT_EQ(file_error_of([&] { writer.write(2, tensors_of(2), {}); }), "no");
    EXPECT_EQ(sorted(dir.names()), (Names{"checkpoint", "model-1.json", "model-1.safetensors"}));
    EXPECT_EQ(value_of(*latest_checkpoint(dir.path())), 1);
    fails = false;
    writer.write(2, tensors_of(2), {});
    EXPECT_EQ(value_of(*latest_checkpoint(dir.path())), 2);
  }
}

TEST(Checkpoint, AFailedSaveDoesNotTouchAFileThatTheIndexDoesNotKnow) {
  TempDir dir;
  put_bytes(dir / "model-1.safetensors", "somebody's own");
  CheckpointWriter writer({.directory = dir.path()});
  {
    FullDisk disk(100);
    file_error_of([&] { writer.write(1, tensors_of(1), {}); });
  }
  EXPECT_EQ(read_file(dir / "model-1.safetensors"), "somebody's own");
}

TEST(Checkpoint, OldOnesThatCannotBeRemovedAreAWarningAndTriedAgain) {
  TempDir dir;
  CheckpointWriter writer({.directory = dir.path(), .keep = 1});
  writer.write(1, tensors_of(1), {});
  std::filesystem::remove(dir / "model-1.json");
  std::filesystem::create_directory(dir / "model-1.json");  // unlink() refuses a directory
  {
    LogLines log;
    EXPECT_NO_THROW(writer.write(2, tensors_of(2), {}));
    EXPECT_TRUE(
        contains(log.text, "expected to remove the old checkpoint '" + dir / "model-1.json" + "', got: Is a dir"))
        << log.text;
  }
  std::filesystem::remove(dir / "model-1.json");
  CheckpointWriter({.directory = dir.path(), .keep = 1}).write(3, tensors_of(3), {});
  EXPECT_EQ(sorted(dir.names()), (Names{"checkpoint", "model-3.json", "model-3.safetensors"}));
}

TEST(Checkpoint, OnlyOurTemporariesOfDeadProcessesAreRemoved) {
  TempDir dir;
  const std::string dead = std::to_string(dead_process()), alive = std::to_string(getppid());
  const Names stale{"model-3.safetensors.tmp-" + dead + "-0", "model-3.json.tmp-" + dead + "-12",
                    "checkpoint.tmp-" + dead + "-1"};
  const Names others{"model-3.safetensors.tmp-" + alive + "-0",  // being written
                     "model-3.safetensors.tmp-1-0",              // alive, of another user
                     "other-3.safetensors.tmp-" + dead + "-0",   // another saver's
                     "model-x.safetensors.tmp-" + dead + "-0",   // not ours
                     "model-3.safetensors.tmp-" + dead,          // no such name is made
                     "model-3.safetensors.tmp-" + dead + "-0.bak",
                     "model-3.safetensors.tmp--" + dead + "-0",  // a group of processes, for kill()
                     "model-3.safetensors.tmp-0-0",
                     "model-3.safetensors.tmp-99999999999999999999-0",
                     "model-3.safetensors"};
  for (const Names& names : {stale, others})
    for (const std::string& name : names) put_bytes(dir / name, "x");
  CheckpointWriter writer({.directory = dir.path()});
  EXPECT_EQ(sorted(dir.names()), sorted(others));
}

TEST(Checkpoint, OptionsThatMakeNoSenseAreErrors) {
  TempDir dir;
  EXPECT_EQ(error_of([&] { CheckpointWriter writer({.directory = dir.path(), .keep = -1}); }),
            "[Saver] expected to keep 1 checkpoint or more, or 0 for all, got -1.");
  EXPECT_EQ(error_of([&] { CheckpointWriter writer({.directory = dir.path(), .prefix = "a/b"}); }),
            "[Saver] expected a prefix that is a plain file name, got 'a/b'. Put directories into .directory.");
  EXPECT_EQ(error_of([&] { CheckpointWriter writer({}); }),
            "[Saver] expected a directory for checkpoints, got an empty path.");
  put_bytes(dir / "file", "");
  EXPECT_EQ(error_of([&] { CheckpointWriter writer({.directory = dir / "file/x"}); }),
            "[file] expected to make the directory '" + dir / "file/x" +
                "', got: Not a directory. Check that the directory and the file exist.");
  CheckpointWriter writer({.directory = dir.path()});
  EXPECT_EQ(error_of([&] { writer.write(-1, {}, {}); }), "[Saver] expected a step of 0 or more, got -1.");
  EXPECT_EQ(error_of([&] { writer.write(1, {}, {.user = {{"k", "\xff"}}}); }),
            "[checkpoint] '" + dir / "model-1" +
                "': expected text in UTF-8, got other bytes. Encode binary state, for example as hex.");
}

TEST(Checkpoint, FilesThatAreNotCheckpointsAreRefusedWithTheReason) {
  TempDir dir;
  write_safetensors(dir / "export.safetensors", tensors_of(1));
  EXPECT_EQ(file_error_of([&] { load_checkpoint(dir / "export"); }),
            "[checkpoint] '" + dir / "export.safetensors" +
                "': expected a checkpoint, got a safetensors file without its state. Is it an exported model? "
                "read_safetensors() and SaverRestore read it.");
  EXPECT_EQ(file_error_of([&] { load_checkpoint(dir / "none"); }),
            "[checkpoint] expected a checkpoint or a directory of checkpoints, got '" + dir / "none" +
                "', which is neither.");

  const std::string good = to_json(full_state(), "");
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  const auto refused = [&](const std::string& state) {
    write_safetensors(dir / "x.safetensors", tensors_of(1), {{std::string(kCheckpointMetadata), state}});
    const std::string text = file_error_of([&] { load_checkpoint(dir / "x"); });
    const std::string where = "[checkpoint] '" + dir / "x.safetensors" + "', its state: ";
    EXPECT_TRUE(text.starts_with(where)) << text;
    return text.substr(std::min(where.size(), text.size()));
  };
  EXPECT_EQ(refused("{"), "expected well-formed JSON, got an error at byte 2 of 1. The file is damaged.");
  EXPECT_EQ(refused("7"), "expected a JSON object, got number. The file is damaged.");
  EXPECT_EQ(refused("{\"a\":{\"b\":[]}}"), "expected JSON of two levels, got more. The file is damaged.");
  EXPECT_EQ(refused(std::string(100'000, '[')), "expected JSON of two levels, got more. The file is damaged.");
  EXPECT_EQ(refused(with("\"step\": 7", "\"step\": 7, \"step\": 8")),
            "expected every field once, got 'step' twice. The file is damaged.");
  EXPECT_EQ(refused(with("\"data\": 0", "\"data\": 0, \"data\": 1")),
            "expected every field once, got 'data' twice. The file is damaged.");
  EXPECT_EQ(refused("{}"), "expected a field 'format', got none. The file is damaged.");
  EXPECT_EQ(refused(with("\"format\": 2", "\"format\": 3")),
            "expected a state of format 2 or below, got format 3. Read it with the version of Belfry that wrote it.");
  EXPECT_EQ(refused(with("\"step\": 7", "\"step\": 1e999")),
            "expected numbers that fit 64 bits, got a larger one. The file is damaged.");
  EXPECT_EQ(refused(with("\"step\": 7", "\"step\": -7")),
            "expected a whole number of 0 or more for 'step', got number. The file is damaged.");
  EXPECT_EQ(refused(with("\"step\": 7", "\"step\": 9223372036854775808")),
            "expected a number below 2^63 for 'step', got 9223372036854775808. The file is damaged.");
  EXPECT_EQ(refused(with("\"data\": 0", "\"data\": \"0\"")),
            "expected an object of whole numbers for 'seeds', got string. The file is damaged.");
  EXPECT_EQ(refused(with("\"0.1.0\"", "1")),
            "expected an object of strings for 'versions', got number. The file is damaged.");
}

TEST(Checkpoint, ADamagedOrHostileIndexIsAWarningAndTheDirectoryIsSearched) {
  TempDir dir;
  CheckpointWriter({.directory = dir.path()}).write(1, tensors_of(1), {});
  const auto warning = [&](const std::string& text) {
    put_bytes(dir / "checkpoint", text);
    LogLines log;
    EXPECT_EQ(latest_checkpoint(dir.path()), dir / "model-1.safetensors") << text;
    EXPECT_EQ(CheckpointWriter({.directory = dir.path()}).kept(), Names{dir / "model-1.safetensors"}) << text;
    return log.text;
  };
  const std::string where = "[checkpoint] the index '" + dir / "checkpoint" + "': ";
  EXPECT_TRUE(warning("").starts_with(where + "expected well-formed JSON, got an error at byte 1 of 0. The file is "
                                              "damaged. The directory is searched for checkpoints instead.\n"));
  EXPECT_TRUE(contains(warning("{\"checkpoints\": 1, \"removing\": []}"),
                       where + "expected a list for 'checkpoints', got number. The file is damaged."));
  for (const std::string name : {"../model-1", "model", "-1", "model-", "/etc/x-1", "model-1\\u0000-1"}) {
    EXPECT_TRUE(contains(warning("{\"checkpoints\": [], \"removing\": [\"" + name + "\"]}"),
                         "expected names of checkpoints next to it, like 'model-100', got '"))
        << name;
  }
}

}  // namespace
}  // namespace belfry
