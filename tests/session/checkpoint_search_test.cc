#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "belfry/base/error.h"
#include "belfry/base/file.h"
#include "belfry/session/checkpoint.h"
#include "belfry/session/checkpoint_writer.h"
#include "belfry/session/safetensors.h"
#include "tests/session/session_testing.h"
#include "tests/support/arrays.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

using testing_support::file_error_of;
using testing_support::LogLines;
using testing_support::put_bytes;
using testing_support::TempDir;
using Names = std::vector<std::string>;

std::map<std::string, Array> filled_with(float value) { return {{"w", Array::full(f32, {100}, value)}}; }

class CheckpointSearchTest : public testing::Test {
 protected:
  void save(std::int64_t step, SaverOptions options = {}) const {
    options.directory = dir.path();
    CheckpointWriter(options).write(step, filled_with(static_cast<float>(step)), {});
  }
  std::string file(std::int64_t step) const { return dir / ("model-" + std::to_string(step) + ".safetensors"); }
  // The last byte, which is data.
  static void damage(const std::string& path) {
    std::string bytes = read_file(path);
    bytes.back() ^= 1;
    put_bytes(path, bytes);
  }
  // As if it was written this many seconds after now.
  static void set_age(const std::string& path, int seconds) {
    timespec times[2]{};
    timespec_get(&times[0], TIME_UTC);
    times[0].tv_sec += seconds;
    times[1] = times[0];
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }
  TempDir dir;
};

TEST_F(CheckpointSearchTest, ADamagedNewestOneIsAWarningAndTheOneBeforeItIsUsed) {
  for (const int step : {1, 2, 3}) save(step);
  damage(file(3));
  LogLines log;
  const auto latest = load_latest_checkpoint(dir.path());
  ASSERT_TRUE(latest.has_value());
  EXPECT_EQ(latest->path, file(2));
  EXPECT_EQ(latest->state.step, 2);
  EXPECT_EQ(latest->tensors.at("w").item(99), 2);
  EXPECT_TRUE(log.text.starts_with("[checkpoint] '" + file(3) +
                                   "' is damaged (tensor 'w': expected data with the "
                                   "checksum "))
      << log.text;
  EXPECT_TRUE(log.text.ends_with("The file is damaged.): the one before it is used\n")) << log.text;
  EXPECT_EQ(latest_checkpoint(dir.path()), file(2));
  EXPECT_EQ(load_checkpoint(dir.path()).path, file(2));
  EXPECT_EQ(find_checkpoint(dir.path()), file(2));
  EXPECT_EQ(load_values(dir.path()).path, file(2));
}

TEST_F(CheckpointSearchTest, AFileThatWasNamedIsAnErrorWhenItIsDamaged) {
  for (const int step : {1, 2}) save(step);
  damage(file(2));
  for (const std::string& path : {dir / "model-2", file(2)}) {
    EXPECT_TRUE(file_error_of([&] { load_checkpoint(path); }).starts_with("[safetensors] '" + file(2) + "': tensor"));
    EXPECT_TRUE(file_error_of([&] { load_values(path); }).starts_with("[safetensors] '" + file(2) + "': tensor"));
  }
}

TEST_F(CheckpointSearchTest, OnlyDamagedOnesAreAnErrorThatNamesEach) {
  for (const int step : {1, 2}) save(step);
  damage(file(1));
  put_bytes(file(2), "");
  LogLines log;
  const std::string text = file_error_of([&] { load_latest_checkpoint(dir.path()); });
  EXPECT_TRUE(text.starts_with("[checkpoint] expected a complete checkpoint in '" + dir.path() +
                               "', got only damaged ones:\n  '" + file(2) +
                               "': expected at least 8 bytes, got 0. The file may be cut short.\n  '" + file(1) +
                               "': tensor 'w': expected data with the checksum "))
      << text;
  EXPECT_TRUE(text.ends_with("\nPut a copy of one there, or start anew in another directory.")) << text;
}

TEST_F(CheckpointSearchTest, OneOfANewerVersionIsNotPassedOver) {
  save(1);
  std::string state = to_json({.step = 2}, "");
  state.replace(state.find("\"format\": 2"), 11, "\"format\": 9");
  write_safetensors(file(2), filled_with(2), {{std::string(kCheckpointMetadata), state}});
  EXPECT_TRUE(contains(file_error_of([&] { load_latest_checkpoint(dir.path()); }),
                       "got format 9. Read it with the version of Belfry that wrote it."));
}

TEST_F(CheckpointSearchTest, AStateOfOurFormatMustHaveChecksumsAndAnOlderOneNeedNot) {
  save(1);
  std::string bytes = read_file(file(1));
  bytes.replace(bytes.find("belfry_checksums"), 16, "another_programs");
  put_bytes(file(1), bytes);
  EXPECT_EQ(file_error_of([&] { load_checkpoint(file(1)); }),
            "[checkpoint] '" + file(1) +
                "': expected checksums, which checkpoints of format 2 have, got none. The file is damaged, or another "
                "program has left out its metadata.");
  const std::size_t format = bytes.find("format\\\": 2");
  ASSERT_NE(format, std::string::npos);
  bytes[format + 10] = '1';
  put_bytes(file(1), bytes);
  EXPECT_EQ(load_checkpoint(file(1)).tensors.at("w").item(5), 1);
}

TEST_F(CheckpointSearchTest, WhatAKilledWriterHadNotListedIsTheNewest) {
  save(5);
  const std::string index = read_file(dir / "checkpoint");
  save(3);  // a run that was set back: not the larger step
  put_bytes(dir / "checkpoint", index);
  set_age(dir / "checkpoint", -10);
  EXPECT_EQ(latest_checkpoint(dir.path()), file(3));
  damage(file(3));
  LogLines log;
  EXPECT_EQ(latest_checkpoint(dir.path()), file(5));
}

TEST_F(CheckpointSearchTest, AFileOlderThanTheIndexThatItDoesNotListIsTheLastResort) {
  save(1, {.keep = 1});
  save(7, {.index = "another"});  // somebody's copy
  set_age(file(7), -10);
  save(2, {.keep = 1});
  EXPECT_EQ(latest_checkpoint(dir.path()), file(2));
  EXPECT_TRUE(std::filesystem::exists(file(7))) << "not the saver's: it is not pruned";
  LogLines log;
  damage(file(2));
  EXPECT_EQ(latest_checkpoint(dir.path()), file(7));
}

TEST_F(CheckpointSearchTest, WithoutAnIndexTheDirectoryIsSearchedForThatSaversFiles) {
  save(2);
  save(1);
  save(9, {.prefix = "min-error", .index = "min-error.index"});
  for (const char* index : {"checkpoint", "min-error.index"}) std::filesystem::remove(dir / index);
  set_age(file(2), -20);
  set_age(file(1), -10);
  EXPECT_EQ(latest_checkpoint(dir.path()), file(1)) << "the one written last, of the usual prefix";
  EXPECT_EQ(latest_checkpoint(dir.path(), "min-error.index"), dir / "min-error-9.safetensors");
  EXPECT_EQ(latest_checkpoint(dir.path(), "max-error.index"), std::nullopt);
  EXPECT_EQ(latest_checkpoint(dir.path(), "other"), std::nullopt) << "nobody knows whose it is";
}

TEST_F(CheckpointSearchTest, TheBestOnesOfAnotherSaverAreNotTakenForTheLatest) {
  save(9, {.prefix = "min-error", .index = "min-error.index"});
  EXPECT_EQ(latest_checkpoint(dir.path()), std::nullopt);
  save(3, {.prefix = "net"});
  std::filesystem::remove(dir / "checkpoint");
  EXPECT_EQ(latest_checkpoint(dir.path()), dir / "net-3.safetensors") << "no other saver's";
}

TEST_F(CheckpointSearchTest, AWriterAdoptsCompleteOnesAndNeverCountsDamagedOnes) {
  for (const int step : {1, 2, 3}) save(step);
  std::filesystem::remove(dir / "checkpoint");
  set_age(file(1), -30);
  set_age(file(2), -20);
  set_age(file(3), -10);
  put_bytes(dir / "model-4.safetensors", "cut");
  EXPECT_EQ(CheckpointWriter({.directory = dir.path()}).kept(), (Names{file(1), file(2), file(3)}));
  CheckpointWriter({.directory = dir.path(), .keep = 3}).write(5, filled_with(5), {});
  EXPECT_FALSE(std::filesystem::exists(file(1)));

  put_bytes(file(5), "cut");
  LogLines log;
  CheckpointWriter writer({.directory = dir.path(), .keep = 2});
  EXPECT_EQ(writer.kept(), (Names{file(2), file(3)}));
  EXPECT_EQ(log.text, "[Saver] '" + file(5) +
                          "' is damaged (expected at least 8 bytes, got 3. The file may be cut short.): it does not "
                          "count as kept, and stays where it is\n");
  writer.write(6, filled_with(6), {});
  EXPECT_EQ(writer.kept(), (Names{file(3), file(6)})) << "with the damaged one as the second, 3 would be gone";
  EXPECT_TRUE(std::filesystem::exists(file(5)));
}

TEST_F(CheckpointSearchTest, AListTellsWhatIsCompleteWithoutReadingValues) {
  for (const int step : {10, 9}) save(step);
  save(4, {.prefix = "min-error", .index = "min-error.index"});
  put_bytes(file(11), "cut");
  write_safetensors(file(12), filled_with(1));
  damage(file(9));  // not seen: only a load reads the values
  put_bytes(dir / "notes.safetensors", "");
  const std::vector<ListedCheckpoint> list = list_checkpoints(dir.path());
  ASSERT_EQ(list.size(), 5u);
  EXPECT_EQ(list[0].path, dir / "min-error-4.safetensors");
  EXPECT_EQ(list[0].prefix, "min-error");
  EXPECT_EQ(list[0].problem, "");
  for (const std::size_t i : {1, 2, 3, 4}) EXPECT_EQ(list[i].step, static_cast<std::int64_t>(8 + i));
  EXPECT_EQ(list[1].bytes, std::filesystem::file_size(file(9)));
  EXPECT_EQ(list[2].problem, "");
  EXPECT_EQ(list[3].problem, "expected at least 8 bytes, got 3. The file may be cut short.");
  EXPECT_TRUE(list[4].problem.starts_with("expected a checkpoint, got a safetensors file without its state."));
  EXPECT_TRUE(contains(file_error_of([&] { list_checkpoints(dir / "none"); }), "expected a directory, got"));
}

}  // namespace
}  // namespace belfry
