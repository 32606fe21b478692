#include "belfry/dataflow/sources/idx.h"

#include <sys/stat.h>

#include "tests/dataflow/idx_files.h"

namespace belfry {
namespace {

class Idx : public testing::Test {
 protected:
  std::string write(const std::string& bytes) { return files_.write("file", bytes); }
  // What read_idx() says of a file with these bytes, with the path shown as PATH.
  std::string error_for(const std::string& bytes) {
    const std::string path = write(bytes);
    std::string text = error_of<FileError>([&] { read_idx(path); });
    const std::size_t at = text.find(path);
    EXPECT_NE(at, std::string::npos) << text;
    if (at != std::string::npos) text.replace(at, path.size(), "PATH");
    return text;
  }

  TemporaryFiles files_;
};

TEST_F(Idx, ReadsBytesPlainAndGzipped) {
  const std::string bytes = idx_bytes(0x08, {2, 3}, std::string("\0\1\2\3\4\xff", 6));
  const Array expected = Array::of<std::uint8_t>({2, 3}, {0, 1, 2, 3, 4, 255});
  EXPECT_TRUE(equal(read_idx(write(bytes)), expected));
  EXPECT_TRUE(equal(read_idx(write(gzip(bytes))), expected));
  EXPECT_TRUE(equal(read_idx(write(gzip(bytes.substr(0, 5)) + gzip(bytes.substr(5)))), expected));  // two members
}

TEST_F(Idx, ReadsBigEndianNumbers) {
  EXPECT_TRUE(equal(read_idx(write(idx_bytes(0x0C, {2}, std::string("\0\0\1\2\xff\xff\xff\xfe", 8)))),
                    Array::of<std::int32_t>({2}, {258, -2})));
  EXPECT_TRUE(
      equal(read_idx(write(idx_bytes(0x0D, {1}, std::string("\x3f\xc0\0\0", 4)))), Array::of<float>({1}, {1.5f})));
  EXPECT_TRUE(equal(read_idx(write(idx_bytes(0x0E, {1}, std::string("\xc0\x04\0\0\0\0\0\0", 8)))),
                    Array::of<double>({1}, {-2.5})));
}

TEST_F(Idx, ReadsAnEmptyArray) {
  EXPECT_EQ(read_idx(write(idx_bytes(0x08, {0, 28, 28}, ""))).shape(), Shape({0, 28, 28}));
}

TEST_F(Idx, AMissingFileIsAnError) {
  const std::string path = files_.path("none");
  EXPECT_EQ(error_of<FileError>([&] { read_idx(path); }),
            "[read_idx] cannot open '" + path + "': No such file or directory.");
}

TEST_F(Idx, ADirectoryIsAnError) {
  EXPECT_EQ(error_of<FileError>([&] { read_idx(files_.path("")); }),
            "[read_idx] expected a regular file, got '" + files_.path("") + "', which is not one.");
}

TEST_F(Idx, APipeIsAnErrorAndNotAWaitForItsWriter) {
  const std::string path = files_.path("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(error_of<FileError>([&] { read_idx(path); }),
            "[read_idx] expected a regular file, got '" + path + "', which is not one.");
}

TEST_F(Idx, AWrongMagicIsAnError) {
  EXPECT_EQ(
      error_for("PNG!...."),
      "[read_idx] expected the two zero bytes that an idx file begins with, got 50 4e in 'PATH'. Is this an idx file?");
  EXPECT_EQ(error_for(std::string("\0\0\x07\1\0\0\0\0", 8)),
            "[read_idx] expected an element type of idx in the third byte, got 0x07 in 'PATH'. Is this an idx file?");
  EXPECT_EQ(error_for(idx_bytes(0x0B, {1}, "ab")),
            "[read_idx] expected elements of type u8, i32, f32 or f64, got i16 in 'PATH', which has no DType.");
  EXPECT_EQ(error_for(idx_bytes(0x08, {1, 1, 1, 1, 1, 1, 1, 1, 1}, "a")),
            "[read_idx] expected at most 8 dimensions, got 9 in 'PATH'.");
}

TEST_F(Idx, ATruncatedFileIsAnErrorAtEveryLength) {
  const std::string bytes = idx_bytes(0x08, {2, 3}, "abcdef"), packed = gzip(bytes);
  for (std::size_t length = 0; length < bytes.size(); ++length) error_for(bytes.substr(0, length));
  for (std::size_t length = 0; length < packed.size(); ++length) error_for(packed.substr(0, length));
  EXPECT_EQ(error_for(""), "[read_idx] expected at least 4 bytes, got 0 in 'PATH'. Is this an idx file?");
  EXPECT_EQ(error_for(bytes.substr(0, 9)),
            "[read_idx] expected 2 dimensions, but 'PATH' ends before them. Fetch the file again.");
  EXPECT_EQ(
      error_for(bytes.substr(0, 17)),
      "[read_idx] expected 18 bytes for u8 [2, 3], got only 17 in 'PATH'. The file is truncated or damaged. Fetch the "
      "file again.");
  EXPECT_EQ(
      error_for(packed.substr(0, packed.size() - 1)),
      "[read_idx] expected a complete gzip file, got the end of 'PATH' too early. It is truncated: fetch it again.");
  EXPECT_EQ(
      error_for(gzip(bytes.substr(0, 17))),
      "[read_idx] expected 6 bytes of elements for u8 [2, 3], got only 5 in 'PATH'. The file is truncated. Fetch the "
      "file again.");
}

TEST_F(Idx, GarbageAtTheEndIsAnError) {
  const std::string bytes = idx_bytes(0x08, {2}, "ab");
  const std::string expected =
      "[read_idx] expected the end of 'PATH' after u8 [2], got more bytes. Fetch the file again.";
  EXPECT_EQ(error_for(bytes + "x"), expected);
  EXPECT_EQ(error_for(gzip(bytes + "x")), expected);
  EXPECT_EQ(
      error_for(gzip(bytes) + "garbage"),
      "[read_idx] expected gzip data, got something else in 'PATH' (incorrect header check). It is damaged, or has "
      "garbage at its end: fetch it again.");
}

TEST_F(Idx, ADamagedByteInAGzippedFileIsAnError) {
  const std::string packed = gzip(idx_bytes(0x08, {8}, "abcdefgh"));
  std::string checksum = packed;
  checksum[packed.size() - 6] ^= 1;
  EXPECT_EQ(error_for(checksum),
            "[read_idx] expected gzip data, got something else in 'PATH' (incorrect data check). It is damaged, or has "
            "garbage at its end: fetch it again.");
}

TEST_F(Idx, LengthsAreCheckedBeforeMemoryIsMade) {
  const std::string huge = idx_bytes(0x0E, {1000000, 1000000}, "");
  EXPECT_EQ(error_for(huge),
            "[read_idx] expected 8000000000012 bytes for f64 [1000000, 1000000], got only 12 in 'PATH'. The file is "
            "truncated "
            "or damaged. Fetch the file again.");
  const std::string packed = gzip(huge);
  EXPECT_EQ(error_for(packed), "[read_idx] expected 8000000000012 bytes for f64 [1000000, 1000000], got at most " +
                                   std::to_string(packed.size() * 1032) +
                                   " in 'PATH'. The file is truncated or damaged. Fetch the file again.");
  for (const std::vector<std::uint32_t>& sizes : {std::vector{~0u, ~0u, ~0u}, std::vector{0u, ~0u, ~0u, ~0u}})
    EXPECT_EQ(error_for(idx_bytes(0x08, sizes, "")),
              "[read_idx] expected a size that memory can hold, got [" + std::string(sizes[0] == 0 ? "0, " : "") +
                  "4294967295, 4294967295, 4294967295] in 'PATH'. Fetch the file again.");
}

}  // namespace
}  // namespace belfry
