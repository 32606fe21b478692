#include "tools/weights.h"

#include <gtest/gtest.h>

#include "belfry/array/npz.h"
#include "belfry/session/safetensors.h"
#include "tests/support/repository.h"
#include "tests/tools/weights_testing.h"
#include "tools/average_weights.h"
#include "tools/change_weights.h"
#include "tools/command_line.h"
#include "tools/diff_weights.h"

namespace belfry::tools {
namespace {

using testing_support::file_error_of;
using testing_support::put_bytes;
using testing_support::TempDir;

TEST(Weights, ComeFromWhateverThePathMeans) {
  const TempDir dir;
  put_checkpoint(dir.path(), 100, layer(1));
  const std::string newest = put_checkpoint(dir.path(), 200, layer(2));
  for (const std::string& path : {newest, dir / "model-200", dir.path(), dir / "checkpoint"}) {
    const Weights weights = read_weights(path);
    EXPECT_EQ(weights.path, newest);
    EXPECT_EQ(weights.kind, Weights::Kind::checkpoint);
    EXPECT_EQ(state_text(weights), "step 200, epoch 2");
    EXPECT_EQ(weights.tensors.at("fc/W").item(), 2);
  }
  write_safetensors(dir / "plain.safetensors", layer(3), {{"framework", "other"}});
  EXPECT_EQ(read_weights(dir / "plain.safetensors").metadata.at("framework"), "other");
  EXPECT_EQ(read_weights(dir / "plain.safetensors").kind, Weights::Kind::safetensors);
  // The content says what a file of another name is.
  std::filesystem::rename(dir / "plain.safetensors", dir / "plain.bin");
  EXPECT_EQ(read_weights(dir / "plain.bin").tensors.size(), 4u);
  write_npz(dir / "weights.npz", layer(4));
  std::filesystem::rename(dir / "weights.npz", dir / "weights.bin");
  EXPECT_EQ(read_weights(dir / "weights.bin").kind, Weights::Kind::npz);
}

TEST(Weights, OfACheckpointInSeveralFilesAreWhole) {
  const TempDir dir;
  CheckpointWriter({.directory = dir.path(), .shard_bytes = 8}).write(7, layer(3), {.epoch = 1});
  ASSERT_GT(dir.names().size(), 4u);
  const Weights weights = read_weights(dir.path());
  ASSERT_EQ(weights.tensors.size(), 4u);
  for (const auto& [name, array] : layer(3)) EXPECT_TRUE(equal(weights.tensors.at(name), array)) << name;
  EXPECT_EQ(state_text(weights), "step 7, epoch 1");
}

TEST(Weights, OfTensorFlowAreKnownByTheirIndex) {
  const std::string dir = testing_support::repository_file("tests/session/data/tf/tf1");
  for (const std::string& path :
       {dir, dir + "/model-7", dir + "/model-7.index", dir + "/model-7.data-00000-of-00001"}) {
    const Weights weights = read_weights(path);
    EXPECT_EQ(weights.kind, Weights::Kind::tensorflow) << path;
    EXPECT_FALSE(weights.tensors.empty());
  }
}

TEST(Weights, ThatAreMissingOrDamagedAreErrors) {
  const TempDir dir;
  put_bytes(dir / "damaged.safetensors", "\xff\xff\xff\xff\xff\xff\xff\x7f{}");
  EXPECT_TRUE(contains(file_error_of([&] { read_weights(dir / "damaged.safetensors"); }),
                       "expected a header of at most 2 bytes"));
  put_bytes(dir / "damaged.npz", "PK\x03\x04");
  EXPECT_TRUE(contains(file_error_of([&] { read_weights(dir / "damaged.npz"); }), "[zip]") ||
              contains(file_error_of([&] { read_weights(dir / "damaged.npz"); }), "[npz]"));
  EXPECT_TRUE(contains(file_error_of([&] { read_weights(dir / "none"); }),
                       "expected a checkpoint or a directory of checkpoints"));
  EXPECT_TRUE(contains(file_error_of([&] { read_weights(dir / "none.npz"); }), "none.npz"));
}

TEST(Weights, AreWrittenOnlyWhereNothingIs) {
  const TempDir dir;
  put_bytes(dir / "here.npz", "precious");
  EXPECT_EQ(file_error_of([&] { check_output(dir / "here.npz", false); }),
            "[weights] expected no file at '" + (dir / "here.npz") +
                "', got one. Choose another name, or replace it with --force.");
  check_output(dir / "here.npz", true);
  std::filesystem::create_symlink("nowhere", dir / "link.npz");
  EXPECT_TRUE(contains(file_error_of([&] { check_output(dir / "link.npz", false); }), "expected no file"));
  EXPECT_EQ(file_error_of([&] { check_output(dir / "weights.bin", false); }),
            "[weights] expected an output that ends in .safetensors or .npz, got '" + (dir / "weights.bin") + "'.");
  EXPECT_TRUE(contains(file_error_of([&] { check_output(dir / "no/weights.npz", false); }), "Make it first."));
}

TEST(ConvertWeights, KeepsEveryBitAndTheState) {
  const TempDir dir;
  put_checkpoint(dir.path(), 100, layer(1.25f));
  printed_by([&] { convert_weights({.input = dir.path(), .output = {.file = dir / "copy.safetensors"}}); });
  EXPECT_EQ(load_checkpoint(dir / "copy.safetensors").state, load_checkpoint(dir.path()).state);
  printed_by([&] { convert_weights({.input = dir / "copy.safetensors", .output = {.file = dir / "copy.npz"}}); });
  const auto arrays = read_npz(dir / "copy.npz");
  ASSERT_EQ(arrays.size(), 4u);
  for (const auto& [name, array] : layer(1.25f)) EXPECT_TRUE(equal(arrays.at(name), array)) << name;
}

TEST(ConvertWeights, CanLeaveOutWhatBelongsToTheRun) {
  const TempDir dir;
  put_checkpoint(dir.path(), 100, layer(1));
  const std::string out = printed_by([&] {
    convert_weights(
        {.input = dir.path(), .model_only = true, .output = {.file = dir / "model.safetensors", .json = true}});
  });
  EXPECT_TRUE(contains(out, "\"left_out\": 1"));
  EXPECT_TRUE(contains(out, "\"tensors\": 3"));
  const SafetensorsFile file = read_safetensors(dir / "model.safetensors");
  EXPECT_FALSE(file.tensors.contains("fc/W/Adam/m"));
  EXPECT_TRUE(file.tensors.contains("fc/W"));
  EXPECT_TRUE(contains(file_error_of([&] {
                         convert_weights({.input = dir / "model.safetensors",
                                          .model_only = true,
                                          .output = {.file = dir / "again.npz"}});
                       }),
                       "expected a checkpoint, which says what belongs to the model"));
  EXPECT_FALSE(std::filesystem::exists(dir / "again.npz"));
}

TEST(RenameWeights, ChangesTheModelsListToo) {
  const TempDir dir;
  put_checkpoint(dir.path(), 100, layer(1));
  const std::string out = printed_by([&] {
    rename_weights({.input = dir.path(), .expressions = {"s/^fc/dense/"}, .output = {.file = dir / "new.safetensors"}});
  });
  EXPECT_TRUE(contains(out, "fc/W         ->  dense/W\n")) << out;
  const Checkpoint renamed = load_checkpoint(dir / "new.safetensors");
  EXPECT_EQ(renamed.state.model, (std::vector<std::string>{"dense/W", "dense/b", "seen"}));
  EXPECT_TRUE(renamed.tensors.contains("dense/W/Adam/m"));
}

TEST(RenameWeights, WritesNothingInADryRun) {
  const TempDir dir;
  put_checkpoint(dir.path(), 100, layer(1));
  const auto before = dir.names().size();
  const std::string out =
      printed_by([&] { rename_weights({.input = dir.path(), .expressions = {"s/b$/bias/"}, .dry_run = true}); });
  EXPECT_EQ(out, "fc/b  ->  fc/bias\n");
  EXPECT_EQ(dir.names().size(), before);
  EXPECT_THROW(rename_weights({.input = dir.path(), .expressions = {"s/b$/bias/"}}), BadArgument);
}

TEST(DropWeights, LeavesOutWholeNames) {
  const TempDir dir;
  put_checkpoint(dir.path(), 100, layer(1));
  const std::string out = printed_by([&] {
    drop_weights(
        {.input = dir.path(), .expressions = {".*Adam.*", "seen"}, .output = {.file = dir / "less.safetensors"}});
  });
  EXPECT_TRUE(contains(out, "left out:\n  fc/W/Adam/m\n  seen\n"));
  const Checkpoint less = load_checkpoint(dir / "less.safetensors");
  EXPECT_EQ(less.state.model, (std::vector<std::string>{"fc/W", "fc/b"}));
  EXPECT_EQ(less.tensors.size(), 2u);
  EXPECT_TRUE(contains(error_of([&] { drop_weights({.input = dir.path(), .expressions = {"fc"}, .dry_run = true}); }),
                       "expected 'fc' to match the name of a tensor, got none of 4."));
}

TEST(AverageWeights, IsTheMeanOfFloatsAndTheLastOfTheRest) {
  const TempDir dir;
  Tensors last = layer(4);
  last["seen"] = Array(std::int64_t{9});
  const std::string a = put_checkpoint(dir / "a", 100, layer(1)), b = put_checkpoint(dir / "b", 200, last);
  const std::string out = printed_by(
      [&] { average_weights({.inputs = {a, b}, .output = {.file = dir / "mean.safetensors", .json = true}}); });
  EXPECT_TRUE(contains(out, "'seen' (i64) differs between the files: it is that of '" + b + "'")) << out;
  const Checkpoint mean = load_checkpoint(dir / "mean.safetensors");
  EXPECT_EQ(mean.tensors.at("fc/W").item(0), 2.5);
  EXPECT_EQ(mean.tensors.at("fc/W").item(3), 3);
  EXPECT_EQ(mean.tensors.at("seen").item(), 9);
  EXPECT_EQ(mean.state.step, 200);
}

TEST(AverageWeights, AddsInF64) {
  const TempDir dir;
  // In f32, 1e8 + 1 is 1e8.
  std::vector<std::string> inputs;
  for (const float value : {1e8f, 1.f, -1e8f, 3.f}) {
    inputs.push_back(dir / std::to_string(inputs.size()) + ".safetensors");
    write_safetensors(inputs.back(), {{"x", Array(value)}});
  }
  printed_by([&] { average_weights({.inputs = inputs, .output = {.file = dir / "mean.npz"}}); });
  EXPECT_EQ(read_npz(dir / "mean.npz").at("x").item(), 1);
}

TEST(AverageWeights, WantsTheSameTensors) {
  const TempDir dir;
  write_npz(dir / "a.npz", {{"conv0/W", Array(1.f)}});
  write_npz(dir / "b.npz", {{"conv0/w", Array(1.f)}});
  write_npz(dir / "c.npz", {{"conv0/W", Array(1.0)}});
  const auto error = [&](const char* other) {
    return error_of(
        [&] { average_weights({.inputs = {dir / "a.npz", dir / other}, .output = {.file = dir / "o.npz"}}); });
  };
  EXPECT_TRUE(contains(error("b.npz"), "got 'conv0/w' in '" + (dir / "b.npz") + "' but not in"));
  EXPECT_TRUE(contains(error("b.npz"), "Did you mean 'conv0/W'?"));
  EXPECT_TRUE(contains(error("c.npz"), "'conv0/W': expected the same shape and dtype in all files, got f32 [] in"));
  EXPECT_FALSE(std::filesystem::exists(dir / "o.npz"));
  EXPECT_THROW(average_weights({.inputs = {dir / "a.npz"}, .output = {.file = dir / "o.npz"}}), BadArgument);
}

TEST(DiffWeights, SaysWhatDiffersAndByHowMuch) {
  const TempDir dir;
  Tensors a = layer(1), b = layer(1);
  b.erase("seen");
  b["other"] = Array(1.f);
  b["fc/b"] = Array::of<float>({2, 1}, {0, 1});
  b["fc/W"] = Array::of<float>({2, 2}, {1, 1.5f, 2, -3});
  write_npz(dir / "a.npz", a);
  write_safetensors(dir / "b.safetensors", b);
  const DiffOptions options{.first = dir / "a.npz", .second = dir / "b.safetensors"};
  bool same = true;
  const std::string out = printed_by([&] { same = diff_weights(options); });
  EXPECT_FALSE(same);
  EXPECT_EQ(out, "only in " + options.first + ":\n  seen\nonly in " + options.second +
                     ":\n  other\nother shape or dtype:\n  fc/b  f32 [2]  f32 [2, 1]\nother values:\n"
                     "  name  elements  of  largest difference  relative\n"
                     "  fc/W         2   4                   6         2\n"
                     "1 equal, 1 with other values, 1 of another shape or dtype, 2 only in one\n");
  EXPECT_TRUE(contains(printed_by([&] { diff_weights({options.first, options.second, true}); }),
                       "\"same\": false,\n  \"equal\": 1,"));
}

TEST(DiffWeights, TakesNanForEqualToNanAndFindsItBesideANumber) {
  const TempDir dir;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  write_npz(dir / "a.npz", {{"x", Array::of<float>({3}, {nan, 0.f, 1})}});
  write_npz(dir / "b.npz", {{"x", Array::of<float>({3}, {-nan, -0.f, 1})}});
  write_npz(dir / "c.npz", {{"x", Array::of<float>({3}, {nan, 0.f, nan})}});
  printed_by([&] { EXPECT_TRUE(diff_weights({dir / "a.npz", dir / "b.npz"})); });
  EXPECT_TRUE(contains(printed_by([&] { EXPECT_FALSE(diff_weights({dir / "a.npz", dir / "c.npz"})); }),
                       "  x            1   3                 inf       inf\n"));
}

}  // namespace
}  // namespace belfry::tools
