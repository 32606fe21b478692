#include <gtest/gtest.h>

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

using testing_support::Arrays;
using testing_support::expect_same;
using testing_support::file_error_of;
using testing_support::FullDisk;
using testing_support::LogLines;
using testing_support::put_bytes;
using testing_support::TempDir;
using Names = std::vector<std::string>;

constexpr std::uint64_t kMost = 10'000;

// 4000 bytes each: two go into a shard, and the large one is alone.
Arrays five_tensors(float value) {
  Arrays out{{"large", Array::full(f32, {5000}, value)}};
  for (const char* name : {"a", "b", "c", "d"}) out.emplace(name, Array::full(f32, {1000}, value));
  return out;
}

const Names kShardsOf1{"model-1.shard-1-of-3.safetensors", "model-1.shard-2-of-3.safetensors",
                       "model-1.shard-3-of-3.safetensors"};

class CheckpointShardsTest : public testing::Test {
 protected:
  SaverOptions options(int keep = 10) const { return {.directory = dir.path(), .keep = keep, .shard_bytes = kMost}; }
  void save(std::int64_t step, float value, int keep = 10) const {
    CheckpointWriter(options(keep)).write(step, five_tensors(value), {.epoch = 1});
  }
  Names names() const {
    Names out = dir.names();
    std::ranges::sort(out);
    return out;
  }
  TempDir dir;
};

TEST_F(CheckpointShardsTest, ALargeOneIsSeveralFilesAndLoadsAsOne) {
  save(1, 7);
  Names expected{"checkpoint", "model-1.json", "model-1.safetensors"};
  expected.insert(expected.end(), kShardsOf1.begin(), kShardsOf1.end());
  std::ranges::sort(expected);
  EXPECT_EQ(names(), expected);
  const Checkpoint loaded = load_checkpoint(dir / "model-1");
  expect_same(loaded.tensors, five_tensors(7));
  EXPECT_EQ(loaded.state.epoch, 1);
  EXPECT_EQ(latest_checkpoint(dir.path()), dir / "model-1.safetensors");
  EXPECT_EQ(read_safetensors(dir / kShardsOf1[0]).tensors.size(), 2u) << "each shard is a file for any reader";
  const std::vector<ListedCheckpoint> list = list_checkpoints(dir.path());
  ASSERT_EQ(list.size(), 1u) << "shards are no checkpoints";
  EXPECT_GT(list[0].bytes, 36'000u);
  EXPECT_EQ(list[0].problem, "");

  CheckpointWriter small({.directory = dir / "small", .shard_bytes = 36'000});
  small.write(1, five_tensors(1), {});
  EXPECT_FALSE(std::filesystem::exists(dir / "small/model-1.shard-1-of-1.safetensors")) << "not above the limit";
}

TEST_F(CheckpointShardsTest, ADamagedMissingOrForeignShardIsFound) {
  save(1, 1);
  save(2, 2);
  const std::string shard = dir / "model-2.shard-2-of-3.safetensors", good = read_file(shard);
  const auto is_passed_over = [&](const std::string& reason) {
    LogLines log;
    EXPECT_EQ(latest_checkpoint(dir.path()), dir / "model-1.safetensors");
    EXPECT_TRUE(log.text.starts_with("[checkpoint] '" + dir / "model-2.safetensors" + "' is damaged ("));
    EXPECT_TRUE(contains(log.text, reason)) << log.text;
  };
  std::string flipped = good;
  flipped.back() ^= 4;
  put_bytes(shard, flipped);
  is_passed_over("model-2.shard-2-of-3.safetensors': tensor 'd': expected data with the checksum ");
  put_bytes(shard, good.substr(0, 3000));
  is_passed_over("The file may be cut short.");
  put_bytes(shard, read_file(dir / "model-1.shard-2-of-3.safetensors"));
  is_passed_over("its shards: expected 'model-2.shard-2-of-3.safetensors' with ");
  is_passed_over("It is damaged or of another save.");
  std::filesystem::remove(shard);
  is_passed_over("No such file or directory");
  EXPECT_TRUE(contains(list_checkpoints(dir.path())[1].problem, "No such file or directory"));
  LogLines log;
  EXPECT_EQ(CheckpointWriter(options()).kept(), Names{dir / "model-1.safetensors"});
}

TEST_F(CheckpointShardsTest, PruningRemovesAllOfItsFiles) {
  for (int step = 1; step <= 3; ++step) save(step, 1, 1);
  EXPECT_EQ(names(), (Names{"checkpoint", "model-3.json", "model-3.safetensors", "model-3.shard-1-of-3.safetensors",
                            "model-3.shard-2-of-3.safetensors", "model-3.shard-3-of-3.safetensors"}));
}

TEST_F(CheckpointShardsTest, AStepThatIsSavedAgainLeavesTheFirstCompleteUntilTheSecondIs) {
  save(1, 1, 1);
  {
    FullDisk disk(15'000);  // the first shard fits
    CheckpointWriter writer(options(1));
    file_error_of([&] { writer.write(1, five_tensors(2), {}); });
  }
  EXPECT_EQ(load_checkpoint(dir / "model-1").tensors.at("a").item(), 1);
  EXPECT_EQ(names().size(), 6u) << "what was written of the second is gone";
  save(1, 2, 1);
  expect_same(load_checkpoint(dir / "model-1").tensors, five_tensors(2));
  EXPECT_EQ(names()[1], "model-1.copy-1.shard-1-of-3.safetensors") << "with names of its own";
  EXPECT_EQ(names().size(), 6u) << "the first one's files are gone";
  CheckpointWriter({.directory = dir.path()}).write(1, five_tensors(3), {});
  EXPECT_EQ(names(), (Names{"checkpoint", "model-1.json", "model-1.safetensors"}));
  expect_same(load_checkpoint(dir / "model-1").tensors, five_tensors(3));
}

TEST_F(CheckpointShardsTest, ANewOneThatFailsLeavesNothing) {
  FullDisk disk(15'000);
  CheckpointWriter writer(options());
  EXPECT_TRUE(contains(file_error_of([&] { writer.write(1, five_tensors(2), {}); }),
                       "model-1.shard-3-of-3.safetensors', got: File too large."));
  EXPECT_TRUE(names().empty());
}

TEST_F(CheckpointShardsTest, WhatAKilledWriterLeftGoesOnceALaterSaveIsComplete) {
  put_bytes(dir / "model-9.shard-1-of-3.safetensors", "left behind");
  put_bytes(dir / "other-9.shard-1-of-3.safetensors", "another saver's");
  const auto before = std::filesystem::last_write_time(dir / "model-9.shard-1-of-3.safetensors");
  save(10, 1);
  std::filesystem::last_write_time(dir / "checkpoint", before + std::chrono::seconds(5));
  const CheckpointWriter writer(options());
  EXPECT_FALSE(std::filesystem::exists(dir / "model-9.shard-1-of-3.safetensors"));
  EXPECT_TRUE(std::filesystem::exists(dir / "other-9.shard-1-of-3.safetensors"));
  EXPECT_EQ(writer.kept(), Names{dir / "model-10.safetensors"});
}

TEST_F(CheckpointShardsTest, AListOfShardsThatLeadsElsewhereIsRefused) {
  const auto refused = [&](const std::string& shards) {
    write_safetensors(dir / "model-1.safetensors", {},
                      {{std::string(kCheckpointMetadata), to_json({.step = 1}, "")}, {"belfry_shards", shards}});
    return file_error_of([&] { load_checkpoint(dir / "model-1"); });
  };
  for (const std::string name :
       {"../model-1.shard-1-of-1.safetensors", "/etc/passwd", "model-2.shard-1-of-1.safetensors", "model-1.safetensors",
        "model-1.shard-x-of-1.safetensors"})
    EXPECT_TRUE(contains(refused(R"({"bytes":{")" + name + R"(":5},"checksums":{")" + name + R"(":5}})"),
                         "its shards: expected files called 'model-1.shard-<n>-of-<n>', each with its size and "
                         "checksum, got '" +
                             name + "'."))
        << name;
  EXPECT_TRUE(contains(refused(R"({"bytes":{"model-1.shard-1-of-1.safetensors":5},"checksums":{}})"),
                       "each with its size and checksum"));
  EXPECT_TRUE(contains(refused("[]"), "its shards: expected a JSON object, got array."));
}

}  // namespace
}  // namespace belfry
