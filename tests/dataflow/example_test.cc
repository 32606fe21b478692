#include "belfry/dataflow/sources/example.h"

#include "belfry/dataflow/sources/tfrecord.h"
#include "tests/dataflow/restore_checks.h"
#include "tests/support/files.h"
#include "tests/support/mutations.h"

namespace belfry {
namespace {

using namespace std::string_literals;

// A length-delimited field of protobuf, for lengths below 128.
std::string field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}
std::string feature(const std::string& name, int kind, const std::string& list) {
  return field(1, field(1, name) + field(2, field(kind, list)));
}
DataPoint read(const std::string& bytes, const std::vector<std::string>& names) {
  return decode_example(bytes, names, "a test");
}
std::string error(const std::string& bytes) {
  return error_of<FileError>([&] { read(bytes, {"x"}); });
}
Array bytes_of(const std::string& text) {
  return Array::of<std::uint8_t>({static_cast<std::int64_t>(text.size())},
                                 std::vector<std::uint8_t>(text.begin(), text.end()));
}

// {"features": {"x": int64 [3, -1], "im": bytes ["ab"], "f": float [1.0]}}, as protobuf's own library writes it.
TEST(Example, HasTheBytesOfProtobuf) {
  const std::string minus_one = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s;
  const std::string bytes = field(1, feature("f", 2, field(1, "\0\0\x80\x3f"s)) + feature("im", 1, field(1, "ab")) +
                                         feature("x", 3, field(1, "\3" + minus_one)));
  const std::map<std::string, Array> features{
      {"x", Array::of<std::int64_t>({2}, {3, -1})}, {"im", bytes_of("ab")}, {"f", Array::of<float>({1}, {1.f})}};
  EXPECT_EQ(encode_example(features), bytes);
  const auto read_back = decode_example(bytes, "a test");
  ASSERT_EQ(read_back.size(), 3u);
  for (const auto& [name, array] : features) EXPECT_TRUE(equal(read_back.at(name), array)) << name;
}

TEST(Example, GivesTheFeaturesThatAreAskedForInTheirOrder) {
  const std::string bytes = encode_example({{"a", Array(1)}, {"b", Array(2.5f)}, {"c", Array(true)}});
  EXPECT_TRUE(same(read(bytes, {"c", "b"}), {Array::of<std::int64_t>({1}, {1}), Array::of<float>({1}, {2.5f})}));
  EXPECT_TRUE(same(read(bytes, {"a", "a"}), {Array::of<std::int64_t>({1}, {1}), Array::of<std::int64_t>({1}, {1})}));
}

TEST(Example, NumbersMayBeWrittenOneByOne) {
  EXPECT_TRUE(same(read(field(1, feature("x", 3, "\x08\x05\x08\x06")), {"x"}), {Array::of<std::int64_t>({2}, {5, 6})}));
  EXPECT_TRUE(same(read(field(1, feature("x", 2, "\x0d\0\0\x80\x3f\x0d\0\0\x80\x3f"s)), {"x"}),
                   {Array::of<float>({2}, {1.f, 1.f})}));
}

TEST(Example, SeveralValuesOfBytesAreRowsIfTheyAreOfOneLength) {
  const std::string rows = field(1, "ab") + field(1, "cd") + field(1, "ef");
  EXPECT_TRUE(same(read(field(1, feature("x", 1, rows)), {"x"}),
                   {Array::of<std::uint8_t>({3, 2}, {'a', 'b', 'c', 'd', 'e', 'f'})}));
  EXPECT_TRUE(same(read(field(1, feature("x", 1, "")), {"x"}), {Array(u8, {0})}));
  EXPECT_EQ(error(field(1, feature("x", 1, field(1, "ab") + field(1, "c")))),
            "[example] expected values of one length in feature 'x' in a test, got 2 and 1 bytes: they do not form an "
            "array. Read the raw records and decode them in a map().");
}

TEST(Example, FieldsThatAreNotKnownArePassedOver) {
  const std::string bytes = field(9, "later") + "\x50\x07"s + "\x5d"s + "1234" + "\x61"s + "12345678" +
                            field(1, field(7, "more") + feature("x", 3, field(1, "\5")));
  EXPECT_TRUE(same(read(bytes, {"x"}), {Array::of<std::int64_t>({1}, {5})}));
}

TEST(Example, SaysWhatIsWrong) {
  EXPECT_EQ(error(""), "[example] expected feature 'x' in a test, got none at all.");
  EXPECT_EQ(error(encode_example({{"a", Array(1)}, {"b", Array(2)}})),
            "[example] expected feature 'x' in a test, got 'a', 'b'.");
  EXPECT_EQ(error(field(1, field(1, field(1, "x")))),
            "[example] expected bytes, float or int64 in feature 'x' in a test, got a feature without a list.");
  EXPECT_EQ(error(field(1, feature("x", 2, field(1, "123")))),
            "[example] expected whole numbers of 4 bytes in feature 'x' in a test, got 3 bytes. It is damaged.");
  EXPECT_EQ(error("\x0a\x7fxy"),
            "[protobuf] expected 127 byte(s) of field 1 in a test, got 2. It is cut off or damaged.");
  EXPECT_EQ(
      error("\x0b"),
      "[protobuf] expected a field of wire type 0, 1, 2 or 5 in a test, got 3. It is damaged, or something else.");
  EXPECT_EQ(error("\x80"),
            "[protobuf] expected the rest of a number in a test, got the end. It is cut off or damaged.");
  EXPECT_EQ(error(std::string(11, '\xff')),
            "[protobuf] expected numbers of at most 10 bytes in a test, got a longer one. It is damaged.");
  EXPECT_EQ(error_of([] { encode_example({{"x", Array(2.0)}}); }),
            "[example] expected u8, f32, i64, i32 or bool for feature 'x', got f64, which an Example has no list for. "
            "cast() it first.");
}

TEST(Example, FilesOfExamplesAreReadByName) {
  const testing_support::TempDir dir;
  const std::string path = dir / "examples";
  write_tfrecord(numbered(4), path, {.features = {"label", "pair"}});
  const std::vector<DataPoint> points = points_left(from_tfrecord(path, {.features = {"pair", "label"}}));
  ASSERT_EQ(points.size(), 4u);
  EXPECT_TRUE(same(points[3], {Array::of<float>({2}, {3, -3}), Array::of<std::int64_t>({1}, {3})}));
  expect_exact_restore([&] { return from_tfrecord(path, {.features = {"label"}}); });
  EXPECT_EQ(error_of<FileError>([&] { from_tfrecord(path, {.features = {"image"}}).next(); }),
            "[example] expected feature 'image' in record 0 of '" + path + "', at byte 0, got 'label', 'pair'.");
}

TEST(Example, DamagedExamplesAreRefusedOrRead) {
  const std::string good = encode_example({{"a", Array::of<std::int64_t>({3}, {1, 300, -1})},
                                           {"b", Array::of<float>({2}, {1.f, 2.f})},
                                           {"c", bytes_of("some bytes")}});
  testing_support::Mutator mutate(8);
  const auto survived = testing_support::survive(
      5000, [&] { return mutate(good); }, [](const std::string& bytes) { decode_example(bytes, "a test"); });
  EXPECT_GT(survived.refused, 1000);
  EXPECT_GT(survived.read, 100);
}

}  // namespace
}  // namespace belfry
