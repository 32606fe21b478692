// The checkpoints in data/tf were written by TensorFlow and Tensorpack: see make.py there.
#include "belfry/session/tf_checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "belfry/base/file.h"
#include "belfry/session/internal/tf/tensor_bundle.h"
#include "belfry/session/tf_restore.h"
#include "tests/session/session_testing.h"
#include "tests/support/arrays.h"
#include "tests/support/files.h"
#include "tests/support/repository.h"

namespace belfry {
namespace {

using namespace testing_support;  // NOLINT(google-build-using-namespace)
using namespace std::string_literals;

std::string tf_file(const std::string& name) { return repository_file("tests/session/data/tf") + "/" + name; }

// make.py's values: of element i of a tensor, from i and the length of its name.
Array tf_formula(DType dtype, const Shape& shape, std::string_view name, std::string_view tf_type = "") {
  Array out(dtype, shape);
  const bool is_unsigned = dtype == u8 || tf_type.starts_with("uint");
  for (std::int64_t i = 0; i < out.elements(); ++i) {
    const auto n = i + static_cast<std::int64_t>(name.size());
    const auto whole = static_cast<double>(n % 23);
    out.set_item(i, dtype == boolean  ? n % 3 == 0
                    : is_float(dtype) ? (whole - 11) * 0.25
                    : is_unsigned     ? whole
                                      : whole - 11);
  }
  return out;
}

void expect_formula(const Arrays& got, DType dtype, const Shape& shape, const std::string& name,
                    std::string_view tf_type = "") {
  ASSERT_TRUE(got.contains(name)) << name;
  const Array expected = tf_formula(dtype, shape, name, tf_type);
  EXPECT_TRUE(equal(got.at(name), expected))
      << name << ": " << to_string(got.at(name)) << ", not " << to_string(expected);
}

struct ReaderLines {
  std::string text;
  LogRedirect redirect{[this](LogLevel, std::string_view line) { text += std::string(line) + "\n"; }, LogLevel::info};
};

void expect_types(const Arrays& got) {
  const std::vector<std::pair<std::string, DType>> types{
      {"float32", f32}, {"float64", f64},  {"int32", i32}, {"int64", i64}, {"uint8", u8},   {"bool", boolean},
      {"float16", f32}, {"bfloat16", f32}, {"int8", i32},  {"int16", i32}, {"uint16", i32}, {"uint32", i64}};
  for (const auto& [type, dtype] : types) expect_formula(got, dtype, {2, 3}, "types/" + type, type);
  expect_formula(got, f32, {3, 3, 2, 4}, "conv0/W");
  expect_formula(got, f32, {}, "scalar");
  expect_formula(got, f32, {0, 3}, "empty");
  ASSERT_TRUE(got.contains("half_ends"));
  const auto ends = got.at("half_ends").values<float>();
  ASSERT_EQ(ends.size(), 7u);
  EXPECT_EQ(ends[0], INFINITY);
  EXPECT_EQ(ends[1], -INFINITY);
  EXPECT_TRUE(std::isnan(ends[2]));
  EXPECT_TRUE(ends[3] == 0 && std::signbit(ends[3]));
  EXPECT_EQ(ends[4], 0x1p-24f);
  EXPECT_EQ(ends[5], 0x1p-14f);
  EXPECT_EQ(ends[6], 65504.f);
  EXPECT_EQ(got.size(), types.size() + 4);
}

TEST(TfCheckpoint, EveryTypeThatBelfryCanHoldIsReadAndTheLogNamesTheOthers) {
  const ReaderLines log;
  expect_types(read_tf_checkpoint(tf_file("tf1/model-7")));
  EXPECT_EQ(log.text, "[tf_checkpoint] '" + tf_file("tf1/model-7") +
                          "': left out 3 of 19 tensors: 'complex' (Belfry has no type complex64), 'nine_axes' (9 axes, "
                          "where Belfry has at most 8), 'text' (Belfry has no type string)\n");
}

TEST(TfCheckpoint, AnIndexThatSnappyPackedIsRead) { expect_types(read_tf_checkpoint(tf_file("packed/model-7"))); }

TEST(TfCheckpoint, AnyOfItsFilesAndItsDirectoryNameIt) {
  for (const char* name :
       {"tf1", "tf1/", "tf1/checkpoint", "tf1/model-7.index", "tf1/model-7.meta", "tf1/model-7.data-00000-of-00001"})
    EXPECT_EQ(read_tf_checkpoint(tf_file(name)).size(), 16u) << name;
}

TEST(TfCheckpoint, DataFilesOfSeveralDevicesAreReadTogether) {
  const Arrays got = read_tf_checkpoint(tf_file("sharded"));
  EXPECT_EQ(got.size(), 4u);
  for (int i = 0; i < 4; ++i) expect_formula(got, f32, {i + 1, 5}, "layer" + std::to_string(i) + "/W");
}

TEST(TfCheckpoint, PartitionedVariablesArePutTogether) {
  const Arrays got = read_tf_checkpoint(tf_file("parts"));
  EXPECT_EQ(got.size(), 3u);
  expect_formula(got, f32, {3}, "whole");
  expect_formula(got, f32, {7, 3}, "rows");
  expect_formula(got, f32, {2, 150}, "columns");
}

TEST(TfCheckpoint, ObjectsOfTensorFlow2HaveTheirPlainNames) {
  const ReaderLines log;
  const Arrays got = read_tf_checkpoint(tf_file("tf2"));
  EXPECT_EQ(got.size(), 6u);
  expect_formula(got, f32, {3, 4}, "net/kernel");
  expect_formula(got, f32, {5}, "net/halves");
  expect_formula(got, f32, {2, 2}, "net/layers/conv0/W");
  expect_formula(got, i32, {3}, "net/layers/v1.5");
  ASSERT_TRUE(got.contains("steps") && got.contains("save_counter"));
  EXPECT_TRUE(equal(got.at("steps"), Array(std::int64_t{42})));
  EXPECT_EQ(log.text, "[tf_checkpoint] '" + tf_file("tf2/ckpt-1") +
                          "': left out 1 of 7 tensors: '_CHECKPOINTABLE_OBJECT_GRAPH' (Belfry has no type string)\n");
}

// Three steps of 0.5 along a gradient of 1, with momentum 0.5: the velocities are 1, 1.5 and 1.75.
TEST(TfCheckpoint, AModelThatTensorpackTrainedIsRead) {
  const Arrays got = read_tf_checkpoint(tf_file("tensorpack"));
  ASSERT_TRUE(got.contains("fc/W") && got.contains("fc/W/Momentum") && got.contains("global_step"));
  const Array before = tf_formula(f32, {2, 3}, "fc/W");
  for (std::int64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(got.at("fc/W").item(i), before.item(i) - 0.5 * (1 + 1.5 + 1.75)) << i;
    EXPECT_EQ(got.at("fc/W/Momentum").item(i), 1.75) << i;
  }
  EXPECT_TRUE(equal(got.at("global_step"), Array(std::int64_t{3})));
  EXPECT_TRUE(equal(got.at("learning_rate"), Array(0.5f)));
}

TEST(TfCheckpoint, TheListSaysWhatIsThereWithoutTheData) {
  const TempDir dir;
  for (const char* name : {"tf1/model-7", "parts/model", "tf2/ckpt-1"})
    std::filesystem::copy(tf_file(name + ".index"s),
                          dir / (std::filesystem::path(name).filename().string() + ".index"));
  std::map<std::string, TfTensor> types, parts, objects;
  for (const TfTensor& tensor : list_tf_checkpoint(dir / "model-7")) types[tensor.name] = tensor;
  for (const TfTensor& tensor : list_tf_checkpoint(dir / "model")) parts[tensor.name] = tensor;
  for (const TfTensor& tensor : list_tf_checkpoint(dir / "ckpt-1")) objects[tensor.name] = tensor;
  EXPECT_EQ(types.size(), 19u);
  const TfTensor& half = types["types/float16"];
  EXPECT_EQ(half.type, "half");
  EXPECT_EQ(half.shape, (Shape{2, 3}));
  EXPECT_EQ(half.bytes, 12u);
  EXPECT_EQ(half.dtype, f32);
  EXPECT_EQ(half.reason, "");
  EXPECT_EQ(types["text"].type, "string");
  EXPECT_EQ(types["text"].dtype, std::nullopt);
  EXPECT_EQ(types["text"].reason, "Belfry has no type string");
  EXPECT_EQ(types["nine_axes"].reason, "9 axes, where Belfry has at most 8");
  EXPECT_EQ(types["nine_axes"].dtype, std::nullopt);
  EXPECT_EQ(parts.size(), 3u) << "slices are no tensors";
  EXPECT_EQ(parts["rows"].bytes, 7u * 3 * 4);
  EXPECT_EQ(objects["net/kernel"].key, "net/kernel/.ATTRIBUTES/VARIABLE_VALUE");
}

using TfRestoreTest = GraphTest;

TEST_F(TfRestoreTest, SetsVariablesByNameAndReportsTheRest) {
  const Variable kernel = var("conv0/W", Array::zeros(f32, {3, 3, 2, 4})), own = var("own", Array(1.f));
  Session session(graph);
  session.initialize();
  LogLines log;
  const InitReport report = TfRestore(tf_file("tf1")).init(session);
  EXPECT_EQ(report.restored, std::vector<std::string>{"conv0/W"});
  EXPECT_EQ(report.missing, std::vector<std::string>{"own"});
  EXPECT_EQ(report.unexpected.size(), 15u);
  EXPECT_TRUE(equal(session.value(kernel), tf_formula(f32, {3, 3, 2, 4}, "conv0/W")));
  EXPECT_EQ(session.value(own).item(), 1);
  EXPECT_TRUE(
      contains(log.text, "[TfRestore '" + tf_file("tf1") + "'] 1 of the graph's variables have no value there"));
}

TEST_F(TfRestoreTest, TakesTheOptionsThatOtherInitsTake) {
  const Variable kernel = var("net/layer2/W", Array::zeros(f32, {3, 5}));
  Session session(graph);
  session.initialize();
  TfRestore(tf_file("sharded"), {.prefix = "net", .ignore = {"net/layer[013]/W"}, .strict = true}).init(session);
  EXPECT_TRUE(equal(session.value(kernel), tf_formula(f32, {3, 5}, "layer2/W")));
}

TEST(TfCheckpoint, AListFileMayNameAPlaceThatIsGoneOrBeQuotedInAnyWay) {
  const TempDir dir;
  const std::string model = dir / "m\xc3\xa9";
  std::filesystem::copy(tf_file("parts/model.index"), model + ".index");
  std::filesystem::copy(tf_file("parts/model.data-00000-of-00001"), model + ".data-00000-of-00001");
  for (const std::string line :
       {"model_checkpoint_path: \"/gone/with/m\\303\\251\"", "  model_checkpoint_path:'m\xc3\xa9'",
        "all_model_checkpoint_paths: \"other\"\nmodel_checkpoint_path: \"m\\303\\251\"\n"}) {
    put_bytes(dir / "checkpoint", line);
    EXPECT_EQ(read_tf_checkpoint(dir.path()).size(), 3u) << line;
  }
  for (const std::string line : {"", "model_checkpoint_path: ", "model_checkpoint_path: \"m", "all: \"m\""}) {
    put_bytes(dir / "checkpoint", line);
    EXPECT_EQ(file_error_of([&] { read_tf_checkpoint(dir.path()); }),
              "[tf_checkpoint] '" + dir / "checkpoint" +
                  "': expected a line 'model_checkpoint_path: \"...\"', got none. Name the checkpoint itself.")
        << line;
  }
}

TEST(TfCheckpoint, FilesThatAreNotThereAreNamed) {
  const TempDir dir;
  EXPECT_EQ(file_error_of([&] { read_tf_checkpoint(dir.path()); }),
            "[tf_checkpoint] '" + dir.path() +
                "': expected a file 'checkpoint' in the directory, which names the latest one, got none. There are no "
                "checkpoints of TensorFlow in it.");
  EXPECT_EQ(file_error_of([&] { read_tf_checkpoint(dir / "model"); }),
            "[tf_checkpoint] '" + dir / "model" + "': expected a file '" + dir / "model.index" +
                "', got none. Name a checkpoint of TensorFlow by the part before '.index'.");
  std::filesystem::copy(tf_file("sharded/model.index"), dir / "model.index");
  std::filesystem::copy(tf_file("sharded/model.data-00000-of-00002"), dir / "model.data-00000-of-00002");
  EXPECT_EQ(file_error_of([&] { read_tf_checkpoint(dir.path()); }),
            "[tf_checkpoint] '" + dir.path() +
                "': expected a file 'checkpoint' in the directory, which names the latest one, got none. Name one of "
                "'model'.");
  EXPECT_EQ(file_error_of([&] { read_tf_checkpoint(dir / "model-1"); }),
            "[tf_checkpoint] '" + dir / "model-1" + "': expected a file '" + dir / "model-1.index" +
                "', got none. There are 'model' beside it.");
  EXPECT_EQ(file_error_of([&] { read_tf_checkpoint(dir / "model"); }),
            "[tf_checkpoint] '" + dir / "model" + "': expected its 2 data file(s) beside the index, got no '" +
                dir / "model.data-00001-of-00002" + "'. Copy all files of the checkpoint.");
}

TEST(TfCheckpoint, TheOlderFormatIsRecognised) {
  const std::string text =
      "': expected a checkpoint of version 2 (.index and .data files), got one of version 1. Load it with TensorFlow "
      "and "
      "save it with tf.compat.v1.train.Saver, which writes version 2.";
  for (const char* name : {"version1", "version1/model"})
    EXPECT_EQ(file_error_of([&] { read_tf_checkpoint(tf_file(name)); }),
              "[tf_checkpoint] '" + tf_file("version1/model") + text);
  const TempDir dir;
  std::filesystem::copy(tf_file("version1/model"), dir / "model-00001-of-00002");
  EXPECT_EQ(file_error_of([&] { read_tf_checkpoint(dir / "model"); }), "[tf_checkpoint] '" + dir / "model" + text);
}

// As TensorFlow's SaveV2 writes them for the tensor "w".
TEST(TfCheckpoint, KeysOfSlicesAreThoseOfTensorFlow) {
  const auto key = [](const BundleSlice& slice) { return slice_key("w", slice).substr(6); };
  EXPECT_EQ(slice_key("w", {{63, 1}}), "\0w\0\1\1\1\xbf\x81"s);
  EXPECT_EQ(slice_key("\xff\0"s, {}), "\0\xff\0\0\xff\0\1\0"s);
  EXPECT_EQ(key({{64, 1}}), "\xc0\x40\x81"s);
  EXPECT_EQ(key({{8191, 1}}), "\xdf\xff\x81"s);
  EXPECT_EQ(key({{8192, 9000}}), "\xe0\x20\x00\xe0\x23\x28"s);
  EXPECT_EQ(key({{0, -1}, {1048575, 6}}), "\x80\x7f\xef\xff\xff\x86"s);
  EXPECT_EQ(key({{4000000000, 1}}), "\xf8\xee\x6b\x28\x00\x81"s);
  EXPECT_EQ(key({{std::int64_t{1} << 55, 1}}), "\xff\x80\x80\0\0\0\0\0\0\x81"s);
  EXPECT_EQ(key({{(std::int64_t{1} << 61) - 1, 1}}), "\xff\x9f\xff\xff\xff\xff\xff\xff\xff\x81"s);
  EXPECT_EQ(key({{(std::int64_t{1} << 62) + 5, 1}}), "\xff\xc0\x40\0\0\0\0\0\0\x05\x81"s);
}

}  // namespace
}  // namespace belfry
