#include "belfry/dataflow/sources/tfrecord.h"

#include "belfry/base/file.h"
#include "belfry/base/internal/crc32c.h"
#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/prefetch.h"
#include "belfry/dataflow/repeat.h"
#include "belfry/dataflow/shuffle.h"
#include "tests/dataflow/idx_files.h"
#include "tests/dataflow/restore_checks.h"
#include "tests/support/files.h"
#include "tests/support/mutations.h"

namespace belfry {
namespace {

using testing_support::put_bytes;
using testing_support::TempDir;

std::vector<std::string> texts(Flow flow) {
  std::vector<std::string> out;
  for (const DataPoint& point : points_left(flow))
    out.emplace_back(static_cast<const char*>(point[0].raw()), point[0].bytes());
  return out;
}

std::string written(const TempDir& dir, const std::vector<std::string>& records, const std::string& name = "a") {
  TFRecordWriter writer(dir / name);
  for (const std::string& record : records) writer.write(record);
  writer.finish();
  return dir / name;
}

std::string read_error(const std::string& path, TFRecordOptions options = {}) {
  return error_of<FileError>([&] { points_left(from_tfrecord(path, options)); });
}

TEST(TFRecord, ReadsTheRecordsOfAllFilesInOrder) {
  const TempDir dir;
  const std::string first = written(dir, {"one", "", "three"}), empty = written(dir, {}, "b"),
                    last = written(dir, {std::string(100'000, 'x')}, "c");
  Flow flow = from_tfrecord({first, empty, last});
  EXPECT_EQ(texts(flow), (std::vector<std::string>{"one", "", "three", std::string(100'000, 'x')}));
  EXPECT_EQ(flow.next(), std::nullopt);
  EXPECT_EQ(flow.size(), std::nullopt);
  flow.start_epoch(1);
  EXPECT_EQ(texts(flow).size(), 4u);
  EXPECT_EQ(from_tfrecord(first).describe(), "tfrecord(\"" + first + "\")");
}

// The bytes as TensorFlow's record writer makes them.
TEST(TFRecord, HasTheBytesOfTheFormat) {
  const TempDir dir;
  const std::string bytes = read_file(written(dir, {"abc"}));
  ASSERT_EQ(bytes.size(), 8u + 4 + 3 + 4);
  EXPECT_EQ(bytes.substr(0, 8), std::string("\3\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(bytes.substr(12, 3), "abc");
  const auto masked = [](std::string text) {
    const std::uint32_t crc = crc32c(std::as_bytes(std::span(text)));
    const std::uint32_t mask = ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
    return std::string(reinterpret_cast<const char*>(&mask), 4);
  };
  EXPECT_EQ(bytes.substr(8, 4), masked(bytes.substr(0, 8)));
  EXPECT_EQ(bytes.substr(15), masked("abc"));
}

TEST(TFRecord, PointsComeBackAsTheyWere) {
  const TempDir dir;
  EXPECT_EQ(write_tfrecord(numbered(7) | shuffle(3), dir / "points", {.encode = true}), 7);
  expect_same(points_left(from_tfrecord(dir / "points", {.decode = true})), points_left(numbered(7) | shuffle(3)));
}

TEST(TFRecord, PositionsAreRestoredExactly) {
  const TempDir dir;
  const std::vector<std::string> paths{written(dir, {"a", "bb", ""}), written(dir, {}, "b"), written(dir, {"cc"}, "c")};
  expect_exact_restore([&] { return from_tfrecord(paths); });
  expect_exact_restore([&] { return from_tfrecord(paths) | shuffle_local(2) | prefetch(2); });
  const std::string packed = dir / "packed";
  put_bytes(packed, gzip(read_file(paths[0])));
  expect_exact_restore([&] { return from_tfrecord({packed, paths[2]}); });
}

TEST(TFRecord, ARestoreReadsNothingAgain) {
  const TempDir dir;
  const std::string path = written(dir, {"first", "second", "third"});
  Flow flow = from_tfrecord(path);
  flow.next(), flow.next();
  const FlowState state = flow.state();
  EXPECT_EQ(to_string(state), R"({"flow":"tfrecord","files":1,"epoch":0,"file":0,"record":2,"offset":43,)"
                              R"-("identity":"tfrecord(files=1, decode=no)"})-");
  std::string bytes = read_file(path);
  bytes.replace(0, 43, std::string(43, '!'));  // what lies before the position is not looked at
  put_bytes(path, bytes);
  flow.restore(state);
  EXPECT_EQ(texts(flow), std::vector<std::string>{"third"});
}

TEST(TFRecord, AStateOfOtherFilesIsAnError) {
  const TempDir dir;
  const std::string path = written(dir, {"first", "second"});
  Flow flow = from_tfrecord(path), two = from_tfrecord({path, path});
  EXPECT_EQ(error_of([&] { flow.restore(without_identity(two.state())); }),
            "[restore] expected a state of 'tfrecord' with files = 1, got 2. The flow must be built as it was when the "
            "state was taken.");
  FlowState state = flow.state();
  state.numbers[2].second = 2;
  EXPECT_EQ(error_of([&] { flow.restore(state); }),
            "[restore] expected a file of at most 1 in 'tfrecord', got 2. The state is damaged.");
  state = flow.state();
  state.numbers[4].second = 1'000;
  flow.restore(state);
  EXPECT_EQ(error_of<FileError>([&] { flow.next(); }),
            "[from_tfrecord] expected a file of at least 1000 bytes, got fewer in '" + path +
                "'. Is it the file that the position was saved with?");
  state.numbers[4].second = 3;
  flow.restore(state);
  EXPECT_TRUE(contains(error_of<FileError>([&] { flow.next(); }), "expected a length that matches its checksum"));
}

TEST(TFRecord, DamageNamesFileRecordAndByte) {
  const TempDir dir;
  const std::string path = dir / "damaged";
  const std::string good = read_file(written(dir, {"first", "second"}));  // the second record begins at byte 21
  const auto error = [&](std::string bytes) {
    put_bytes(path, bytes);
    return read_error(path);
  };
  const auto with = [&](std::size_t at) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ 4);
    return bytes;
  };
  const std::string place = "record 1 of '" + path + "', at byte 21";
  EXPECT_EQ(error(good), "no error");
  EXPECT_EQ(error(with(21)),
            "[from_tfrecord] expected a length that matches its checksum in " + place +
                ", got 2. The file is damaged, or not a TFRecord file. Fetch or write the file again.");
  EXPECT_EQ(error(with(34)), "[from_tfrecord] expected data that match their checksum in " + place +
                                 ", got others in its 6 byte(s). The file is damaged. Fetch or write the file again.");
  EXPECT_EQ(error(with(40)), error(with(34)));
  EXPECT_EQ(error(good.substr(0, 25)), "[from_tfrecord] expected 11 byte(s) of a record's header in " + place +
                                           ", got 3. The file is truncated. Fetch or write the file again.");
  EXPECT_EQ(error(good.substr(0, 36)), "[from_tfrecord] expected a record that fits the file in " + place +
                                           ", got a length of 6 where only 3 bytes are left. The file is truncated. "
                                           "Fetch or write the file again.");
  EXPECT_TRUE(
      contains(error(gzip(good.substr(0, 36))), "expected 6 byte(s) of a record's data in " + place + ", got 3"));
  for (std::size_t length = 0; length < good.size(); ++length)
    if (length != 0 && length != 21) {
      EXPECT_TRUE(contains(error(good.substr(0, length)), "truncated")) << length;
    }
}

TEST(TFRecord, AnAbsurdLengthMakesNoMemory) {
  const TempDir dir;
  std::string header(8, '\xff');
  const std::uint32_t crc = crc32c(std::as_bytes(std::span(header))), mask = ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
  header.append(reinterpret_cast<const char*>(&mask), 4);
  for (const std::string& bytes : {header, header + "1234", gzip(header + "123456")}) {
    put_bytes(dir / "absurd", bytes);
    EXPECT_TRUE(contains(read_error(dir / "absurd"), "got a length of 18446744073709551615 where")) << bytes.size();
  }
}

TEST(TFRecord, ADamagedRecordCanBeTriedAgain) {
  const TempDir dir;
  const std::string path = written(dir, {"first", "second"}), good = read_file(path);
  put_bytes(path, good.substr(0, 30));
  Flow flow = from_tfrecord(path);
  flow.next();
  EXPECT_THROW(flow.next(), FileError);
  EXPECT_THROW(flow.next(), FileError);
  put_bytes(path, good);
  EXPECT_EQ(texts(flow), std::vector<std::string>{"second"});
}

TEST(TFRecord, ADamagedPointNamesItsRecord) {
  const TempDir dir;
  const std::string path = written(dir, {"nonsense"});
  EXPECT_EQ(read_error(path, {.decode = true}),
            "[decode] expected a datapoint, which begins with 'BDP1', in record 0 of '" + path +
                "', at byte 0, got something else.");
}

TEST(TFRecord, AFileThatIsMissingIsAnErrorAtOnce) {
  EXPECT_EQ(error_of<FileError>([] { from_tfrecord("/nowhere/x"); }),
            "[from_tfrecord] cannot open '/nowhere/x': No such file or directory.");
  EXPECT_EQ(error_of([] { from_tfrecord(std::vector<std::string>{}); }),
            "[from_tfrecord] expected the path of a file, or several, got none.");
}

TEST(TFRecord, WritesThatDoNotFinishLeaveWhatWasThere) {
  const TempDir dir;
  const std::string path = written(dir, {"old"});
  {
    TFRecordWriter writer(path);
    writer.write("new");
  }
  EXPECT_THROW(write_tfrecord(numbered(3), path), Error);
  EXPECT_EQ(texts(from_tfrecord(path)), std::vector<std::string>{"old"});
  EXPECT_EQ(dir.names(), std::vector<std::string>{"a"});
}

TEST(TFRecord, WritesNothingOfAFlowWithoutEnd) {
  const TempDir dir;
  EXPECT_EQ(error_of([&] { write_tfrecord(numbered(3) | repeat(), dir / "x", {.encode = true}); }),
            "[write_tfrecord] expected a flow that ends, got 'list | repeat', which does not. Call repeat() after this "
            "instead, or limit the flow with fixed_size().");
  EXPECT_TRUE(dir.names().empty());
}

TEST(TFRecord, WritesOnlyWhatARecordCanHold) {
  const TempDir dir;
  EXPECT_EQ(error_of([&] { write_tfrecord(numbered(3), dir / "x"); }),
            "[write_tfrecord] expected points of one component, u8 [n], got a point of 2 components. Set .encode or "
            ".features to store others.");
  EXPECT_EQ(error_of([&] { write_tfrecord(from_list({{Array(2.f)}}), dir / "x"); }),
            "[write_tfrecord] expected points of one component, u8 [n], got f32 []. Set .encode or .features to store "
            "others.");
  EXPECT_EQ(error_of([&] { write_tfrecord(numbered(3), dir / "x", {.features = {"a"}}); }),
            "[write_tfrecord] expected 1 component(s), one for each of .features, got a point of 2.");
  EXPECT_EQ(error_of([&] { write_tfrecord(numbered(3), dir / "x", {.encode = true, .features = {"a"}}); }),
            "[write_tfrecord] expected .encode or .features, got both. A record is one or the other.");
  EXPECT_EQ(
      error_of([&] { write_tfrecord(numbered(3), dir / "x", {.features = {"a", "a"}}); }),
      "[write_tfrecord] expected distinct names in .features, got 'a' twice. An Example has one feature per name.");
  EXPECT_TRUE(dir.names().empty());
  EXPECT_EQ(error_of([&] { from_tfrecord(dir / "x", {.decode = true, .features = {"a"}}); }),
            "[from_tfrecord] expected .decode or .features, got both. A record is one or the other.");
}

TEST(TFRecord, DamagedFilesAreRefusedOrRead) {
  const TempDir dir;
  const std::string path = dir / "damaged";
  write_tfrecord(numbered(3), path, {.encode = true});
  const std::string good = read_file(path);
  testing_support::Mutator mutate(5);
  const auto survived = testing_support::survive(
      3000, [&] { return mutate.coin() ? mutate(good) : gzip(mutate(good)); },
      [&](const std::string& bytes) {
        put_bytes(path, bytes);
        points_left(from_tfrecord(path, {.decode = true}));
      });
  EXPECT_GT(survived.refused, 2000);
}

}  // namespace
}  // namespace belfry
