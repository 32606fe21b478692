// What damaged and hostile checkpoints of TensorFlow do.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "belfry/base/file.h"
#include "belfry/session/internal/tf/snappy.h"
#include "belfry/session/internal/tf/tensor_bundle.h"
#include "belfry/session/tf_checkpoint.h"
#include "tests/support/arrays.h"
#include "tests/support/files.h"
#include "tests/support/mutations.h"
#include "tests/support/repository.h"
#include "tests/support/tf_tables.h"

namespace belfry {
namespace {

using namespace testing_support;  // NOLINT(google-build-using-namespace)
using namespace std::string_literals;

std::string tf_fixture(const std::string& name) { return read_file(repository_file("tests/session/data/tf/" + name)); }

class TfDamageTest : public testing::Test {
 protected:
  Arrays read(const std::string& index, const std::string& bytes) {
    put_bytes(dir / "m.index", index);
    if (bytes != written_ || bytes.empty()) put_bytes(dir / "m.data-00000-of-00001", bytes);
    written_ = bytes;
    return read_tf_checkpoint(dir / "m");
  }

  // The error's text, without what every text begins with.
  std::string refusal_of(const std::string& index, const std::string& bytes) {
    const std::string text = file_error_of([&] { read(index, bytes); });
    const std::string front = "[tf_checkpoint] '" + dir / "m";
    EXPECT_TRUE(text.starts_with(front)) << text;
    return text.substr(std::min(front.size(), text.size()));
  }
  std::string refusal_of(const TfEntries& entries, const std::string& bytes = "") {
    return refusal_of(tf_table(tf_entries(entries)), bytes);
  }
  // With the right header, and the float [2] 'w' as its entry says.
  std::string refusal_of_w(const TfEntryFields& entry, const std::string& bytes = "12345678") {
    return refusal_of({{"", tf_header()}, {"w", tf_entry(entry)}}, bytes);
  }

  TempDir dir;

 private:
  std::string written_;  // the data file: most tests keep it
};

constexpr const char* kIndexDamaged = " The index is damaged.";
constexpr const char* kFileDamaged = " The file is damaged.";

TEST_F(TfDamageTest, TheMakerOfTheseTestsMakesRightFilesToo) {
  const std::string bytes = "12345678abcd", w = bytes.substr(0, 8), c = bytes.substr(8);
  const Arrays got = read(
      tf_table(
          tf_entries({{"", tf_header()},
                      {"c", tf_entry({.type = 4, .dims = {4}, .offset = 8, .size = 4, .checksum = tf_checksum(c)})},
                      {"w:0", tf_entry({.dims = {2}, .size = 8, .checksum = tf_checksum(w)})}})),
      bytes);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(std::memcmp(got.at("w").raw(), w.data(), w.size()), 0);
  EXPECT_TRUE(equal(got.at("c"), Array::of<std::uint8_t>({4}, {'a', 'b', 'c', 'd'})));
}

TEST_F(TfDamageTest, EveryFlippedBitIsFound) {
  for (const auto& [name, step] : {std::pair("tensorpack/model-3"s, 1), std::pair("packed/model-7"s, 7)}) {
    const std::string index = tf_fixture(name + ".index"), bytes = tf_fixture(name + ".data-00000-of-00001");
    ASSERT_NO_THROW(read(index, bytes));
    for (std::size_t bit = 0; bit < 8 * index.size(); bit += step) {
      std::string damaged = index;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
      EXPECT_THROW(read(damaged, bytes), FileError) << name << ", bit " << bit;
    }
  }
  const std::string index = tf_fixture("tensorpack/model-3.index"),
                    bytes = tf_fixture("tensorpack/model-3.data-00000-of-00001");
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    EXPECT_TRUE(contains(refusal_of(index, damaged), "expected bytes that match their checksum, got others in")) << bit;
  }
}

TEST_F(TfDamageTest, EveryTruncatedFileIsRefused) {
  const std::string index = tf_fixture("tensorpack/model-3.index"),
                    bytes = tf_fixture("tensorpack/model-3.data-00000-of-00001");
  for (std::size_t size = 0; size < index.size(); ++size) refusal_of(index.substr(0, size), bytes);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_TRUE(contains(refusal_of(index, bytes.substr(0, size)), "It is cut short.")) << size;
  EXPECT_EQ(
      refusal_of(index.substr(0, 20), bytes),
      ".index': expected the end of an index, got 20 bytes without it. The file is cut short, or not an index that "
      "TensorFlow wrote.");
}

TEST_F(TfDamageTest, HeadersThatBelfryCannotReadAreRefused) {
  EXPECT_EQ(refusal_of(TfEntries{{"", tf_header({.byte_order = 1})}}),
            ".index': expected little-endian data, got big-endian. Load and save it on a machine with the other byte "
            "order, as .npz.");
  EXPECT_EQ(
      refusal_of(TfEntries{{"", tf_header({.oldest_reader = 2})}}),
      ".index': expected a checkpoint that readers of version 1 can read, got one for version 2 or later. Save it "
      "with an older TensorFlow, or as .npz.");
  for (const std::uint64_t files : {std::uint64_t{0}, std::uint64_t{100'000}, ~std::uint64_t{0}})
    EXPECT_EQ(refusal_of(TfEntries{{"", tf_header({.files = files})}}),
              ".index': expected 1 to 99999 data files, got " + std::to_string(files) + "." + kFileDamaged);
  EXPECT_EQ(refusal_of(TfEntries{{"w", tf_entry({})}}),
            ".index': expected an index that begins with a header, got none. The file is damaged, or not of a "
            "checkpoint.");
  EXPECT_EQ(refusal_of(TfEntries{}),
            ".index': expected an index that begins with a header, got an empty one." + std::string(kFileDamaged));
}

TEST_F(TfDamageTest, EntriesThatDoNotAddUpAreRefused) {
  const std::string w = "': tensor 'w': ", index_w = ".index" + w;
  EXPECT_EQ(refusal_of_w({.dims = {2}, .size = 4}), w + "expected 8 bytes for float [2], got 4." + kIndexDamaged);
  EXPECT_EQ(refusal_of_w({.dims = {2}, .offset = 4, .size = 8}), w + "expected 8 bytes at 4 of '" +
                                                                     dir / "m.data-00000-of-00001" +
                                                                     "', got a file of 8 bytes. It is cut "
                                                                     "short.");
  EXPECT_EQ(refusal_of_w({.dims = {2}, .offset = ~std::uint64_t{0} - 3, .size = 8}),
            w + "expected 8 bytes at 18446744073709551612 of '" + dir / "m.data-00000-of-00001" +
                "', got a file of 8 bytes. It is cut short.");
  EXPECT_EQ(refusal_of_w({.dims = {2}, .size = 8, .checksum = 1}),
            w + "expected bytes that match their checksum, got others in '" + dir / "m.data-00000-of-00001" +
                "'. The file is damaged, or of another checkpoint.");
  EXPECT_EQ(refusal_of_w({.type = 10, .dims = {8}, .size = 8, .checksum = tf_checksum("12345678")}),
            w + "expected booleans of 0 or 1, got another byte.");
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_EQ(refusal_of_w({.dims = {huge, huge}, .size = 8}),
            w + "expected a shape whose size fits 63 bits, got [1099511627776, 1099511627776]." + kIndexDamaged);
  EXPECT_EQ(refusal_of_w({.dims = {huge, 0, huge}, .size = 0}),
            w + "expected a shape whose size fits 63 bits, got [1099511627776, 0, 1099511627776]." + kIndexDamaged);
  EXPECT_EQ(refusal_of_w({.dims = {huge}, .size = 8}),
            w + "expected 4398046511104 bytes for float [1099511627776], got 8." + kIndexDamaged);
  EXPECT_EQ(refusal_of_w({.dims = {2, -1}, .size = 8}),
            index_w + "expected at most 254 axes with sizes of 0 or more, got size -1 for axis 1." + kFileDamaged);
  EXPECT_EQ(refusal_of_w({.dims = std::vector<std::int64_t>(255, 1), .size = 8}),
            index_w + "expected at most 254 axes with sizes of 0 or more, got size 1 for axis 254." + kFileDamaged);
  EXPECT_EQ(refusal_of_w({.dims = {2}, .file = 1, .size = 8}),
            index_w + "expected a data file below 1, got 1." + kFileDamaged);
  EXPECT_EQ(refusal_of_w({.dims = {2}, .slices = std::vector<std::vector<TfExtent>>(10'001, {TfExtent{}})}),
            index_w + "expected at most 10000 slices, got more." + kFileDamaged);
}

TEST_F(TfDamageTest, TensorsThatShareBytesOrNamesAreRefused) {
  const TfEntryFields w{.dims = {2}, .size = 8, .checksum = tf_checksum("12345678")};
  EXPECT_EQ(refusal_of({{"", tf_header()}, {"v", tf_entry(w)}, {"w", tf_entry(w)}}, "12345678"),
            "': expected tensors that have no bytes in common, got 8 bytes at 0 and 8 at 0 of data file 0." +
                std::string(kIndexDamaged));
  const TfEntryFields empty{.dims = {0}};
  EXPECT_EQ(refusal_of({{"", tf_header()}, {"w", tf_entry(empty)}, {"w:0", tf_entry(empty)}}),
            "': expected one tensor for each name, got two for 'w'. Rename one of them in TensorFlow.");
  EXPECT_EQ(refusal_of({{"", tf_header()}, {"w", tf_entry(empty)}, {"w", tf_entry(empty)}}),
            ".index': expected keys in alphabetical order, got one that is not behind the one before." +
                std::string(kFileDamaged));
}

TEST_F(TfDamageTest, SlicesThatAreNotExactlyTheTensorAreRefused) {
  const std::string bytes = "0123456789abcdefghij";
  using Slices = std::vector<std::vector<TfExtent>>;
  struct Part {
    BundleSlice slice;
    TfEntryFields fields;
  };
  const auto part = [&](std::int64_t start, std::uint64_t offset, std::int64_t length) {
    const auto size = static_cast<std::uint64_t>(length);
    return Part{{{start, length}},
                {.type = 4,
                 .dims = {length},
                 .offset = offset,
                 .size = size,
                 .checksum = tf_checksum(std::string_view(bytes).substr(offset, size))}};
  };
  const auto entries = [&](const Slices& slices, const std::vector<Part>& parts, std::int64_t size = 4) {
    std::map<std::string, std::string> sorted{{"", tf_header()},
                                              {"w", tf_entry({.type = 4, .dims = {size}, .slices = slices})}};
    for (const Part& p : parts) sorted.emplace(slice_key("w", p.slice), tf_entry(p.fields));
    return TfEntries(sorted.begin(), sorted.end());
  };
  EXPECT_TRUE(
      equal(read(tf_table(tf_entries(entries({{{2, 2}}, {{0, 2}}}, {part(2, 0, 2), part(0, 2, 2)}))), bytes).at("w"),
            Array::of<std::uint8_t>({4}, {'2', '3', '0', '1'})));
  const std::string w = "': tensor 'w': ";
  EXPECT_EQ(refusal_of(entries({{{0, 2}}, {{2, 2}}}, {part(0, 0, 2)}), bytes),
            w + "expected an entry for its slice [2:4], got none." + kIndexDamaged);
  EXPECT_EQ(refusal_of(entries({{{0, 2}}, {{1, 2}}}, {part(0, 0, 2), part(1, 2, 2)}), bytes),
            w + "expected slices without common elements, got [0:2] and [1:3]." + kFileDamaged);
  EXPECT_EQ(refusal_of(entries({{{0, 2}}, {{3, 1}}}, {part(0, 0, 2), part(3, 2, 1)}), bytes),
            w + "expected slices of 4 elements together, got 3." + kFileDamaged);
  EXPECT_EQ(refusal_of(entries({{{3, 2}}}, {part(3, 0, 2)}), bytes),
            w + "expected slices within its 4 elements of axis 0, got 2 from 3 on." + kFileDamaged);
  EXPECT_EQ(refusal_of(entries({{{-1, 4}}}, {part(-1, 0, 4)}), bytes),
            w + "expected slices within its 4 elements of axis 0, got 4 from -1 on." + kFileDamaged);
  EXPECT_EQ(refusal_of(entries({{{}, {}}}, {}), bytes),
            ".index" + w + "expected slices with the tensor's 1 axes, got one with 2." + kFileDamaged);
  Part other = part(0, 0, 4);
  other.fields.type = 9;
  EXPECT_EQ(refusal_of(entries({{{0, 4}}}, {other}), bytes),
            w + "expected its slice [0:4] to be uint8 of this shape, got something else." + kIndexDamaged);
  // As many elements as fit 63 bits, in parts that nothing in the files is behind.
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_EQ(refusal_of(entries({{{0, huge}}, {{0, huge}}}, {}, huge), bytes),
            w + "expected slices without common elements, got [0:4611686018427387904] and [0:4611686018427387904]." +
                kFileDamaged);
}

TEST_F(TfDamageTest, TablesThatDoNotAddUpAreRefused) {
  const std::string content = tf_entries({{"", tf_header()}}), damaged = kFileDamaged;
  const auto with_handles = [&](const std::vector<std::string>& handles) {
    TfEntries entries;
    for (const std::string& handle : handles) entries.emplace_back(std::string(entries.size() + 1, 'x'), handle);
    return refusal_of(tf_table(content, '\0', tf_entries(entries)), "");
  };
  const std::uint64_t size = content.size();
  EXPECT_TRUE(contains(with_handles({tf_handle(1'000'000, 1)}), "got one of 1 bytes at 1000000." + damaged));
  EXPECT_TRUE(
      contains(with_handles({tf_handle(0, ~std::uint64_t{0})}), "of 18446744073709551615 bytes at 0." + damaged));
  EXPECT_TRUE(contains(with_handles({tf_handle(~std::uint64_t{0}, size)}), "at 18446744073709551615." + damaged));
  EXPECT_TRUE(contains(with_handles({tf_handle(0, size), tf_handle(0, size)}),
                       "expected the next block at " + std::to_string(size + 5) + " or later, got 0." + damaged));
  EXPECT_TRUE(contains(with_handles({tf_handle(0, size - 1)}), "to match its checksum, got others." + damaged));
  std::string filled = tf_table(content);
  filled[filled.size() - 9] = '\1';
  EXPECT_EQ(refusal_of(filled, ""),
            ".index': expected a footer of two places and zeros, got something else." + damaged);
  EXPECT_TRUE(contains(refusal_of(tf_table(content, '\2'), ""), "got packing 2 at 0. Belfry has no reader for it."));
  EXPECT_EQ(refusal_of(tf_table("abc"), ""),
            ".index': expected a block that ends with a list of places in it, got 3 bytes and a list of 0." + damaged);
  EXPECT_EQ(refusal_of(tf_table("\2\0\0\0"s), ""),
            ".index': expected a block that ends with a list of places in it, got 4 bytes and a list of 2." + damaged);
  const std::string end = "\0\0\0\0\1\0\0\0"s;
  EXPECT_EQ(refusal_of(tf_table("\1\0\0"s + end), ""),
            ".index': expected an entry within the 0 bytes that its block has left, got 0 bytes of a key that shares 1 "
            "of 0, and 0 of a value." +
                damaged);
  EXPECT_TRUE(contains(refusal_of(tf_table("\0\1\0"s + end), ""), "got 1 bytes of a key"));
  EXPECT_TRUE(contains(refusal_of(tf_table("\0\0\x7f"s + end), ""), "and 127 of a value"));
}

// Two bytes would do for each of them: a long key that shares all but its end with the one before.
TEST_F(TfDamageTest, KeysThatTakeFarMoreRoomThanTheFileAreRefused) {
  TfEntries entries{{"", tf_header()}};
  const std::string front(30'000, 'n'), empty = tf_entry({.dims = {0}});
  for (int i = 0; i < 200; ++i) entries.emplace_back(front + std::to_string(1000 + i), empty);
  EXPECT_TRUE(contains(refusal_of(entries), "expected names of at most"));
}

TEST_F(TfDamageTest, DamagedFilesWithRightChecksumsAreRefusedOrRead) {
  Mutator mutate(3);
  Survived total;
  for (const std::string& name : {"tf1/model-7"s, "parts/model"s}) {
    const std::string index = tf_fixture(name + ".index"), bytes = tf_fixture(name + ".data-00000-of-00001");
    // Small files have one block of entries, right before the block about blocks.
    std::string_view handle = std::string_view(index).substr(index.size() - 48);
    const std::string content = index.substr(0, take_varint(handle, "footer") - 5);
    ASSERT_NO_THROW(read(tf_table(content), bytes));
    const Survived survived = survive(
        1000, [&] { return mutate(content); },
        [&](const std::string& damaged) { sum_of_all(read(tf_table(damaged), bytes)); });
    total.refused += survived.refused;
    total.read += survived.read;
  }
  EXPECT_GT(total.refused, 1000);
  EXPECT_GT(total.read, 10);
}

TEST(Snappy, UnpacksLiteralsAndCopiesOfEveryLength) {
  const auto unpacked = [](const std::string& bytes) { return unpack_snappy(bytes, "a test"); };
  EXPECT_EQ(unpacked("\0"s), "");
  EXPECT_EQ(unpacked("\3\x08"s + "abc"), "abc");
  EXPECT_EQ(unpacked("\x0a\x04"s + "ab" + "\x11\2"s), "abababab" + std::string("ab"));
  EXPECT_EQ(unpacked("\6\x08"s + "abc" + "\x0a\3\0"s), "abcabc");
  EXPECT_EQ(unpacked("\6\x08"s + "abc" + "\x0b\3\0\0\0"s), "abcabc");
  const std::string long_text(300, 'x');
  EXPECT_EQ(unpacked("\xac\2\xf4\x2b\1"s + long_text), long_text);
  EXPECT_EQ(unpacked("\x3d\xf0\x3c"s + long_text.substr(0, 61)), long_text.substr(0, 61));
}

TEST(Snappy, RefusesWhatDoesNotAddUp) {
  const auto refusal = [](const std::string& bytes) { return file_error_of([&] { unpack_snappy(bytes, "a test"); }); };
  EXPECT_EQ(refusal("\xff\xff\xff\xff\x0f\0"s),
            "[snappy] expected at most 22 bytes from the 1 of a test, got a length of 4294967295. It is damaged.");
  EXPECT_EQ(refusal("\3\4"s + "ab"), "[snappy] expected 3 bytes of a test, got 2. It is cut off.");
  EXPECT_EQ(refusal("\3\x0c"s + "abcd"), "[snappy] expected 3 bytes of a test, got more. It is damaged.");
  EXPECT_EQ(refusal("\4\x0c"s + "ab"), "[snappy] expected 4 more byte(s) of a test, got 2. It is cut off or damaged.");
  for (const std::string& offset : {"\0"s, "\3"s})
    EXPECT_EQ(refusal("\x0a\x04"s + "ab" + "\x11"s + offset),
              "[snappy] expected a copy from within the 2 bytes before it in a test, got an offset of " +
                  std::to_string(offset[0]) + ". It is damaged.");
  EXPECT_EQ(refusal("\3\xf0"s), "[snappy] expected 1 more byte(s) of a test, got 0. It is cut off or damaged.");
}

}  // namespace
}  // namespace belfry
