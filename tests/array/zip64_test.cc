// Archives past the 32 bits of the old zip format; small ones here, made as if they were large.
#include <gtest/gtest.h>

#include "belfry/array/internal/zip.h"
#include "belfry/array/npz.h"
#include "belfry/base/file.h"
#include "tests/support/arrays.h"
#include "tests/support/files.h"
#include "tests/support/zip_maker.h"

namespace belfry {
namespace {

using namespace testing_support;  // NOLINT(google-build-using-namespace)

// Numbers from `zip64_from` on are written as zip64 has it.
std::string archive(std::uint64_t zip64_from, bool deflate = false) {
  TempDir dir;
  ZipWriter writer(dir / "x", deflate, zip64_from);
  const std::string header = npy(npy_dict("|u1", "(300,)"), ""), body(300, 'b');
  for (const char* name : {"a.npy", "b.npy"}) writer.add(name, header, std::as_bytes(std::span(body)));
  writer.commit();
  return read_file(dir / "x");
}

Arrays read_archive(const std::string& bytes) {
  TempDir dir;
  put_bytes(dir / "x", bytes);
  return read_npz(dir / "x");
}

const Arrays kExpected{{"a", Array::full(u8, {300}, 'b')}, {"b", Array::full(u8, {300}, 'b')}};

TEST(Zip64, SizesOffsetsAndTheDirectoryRoundTrip) {
  const std::string plain = archive(0xffffffff);
  for (const std::uint64_t from : {1, 100, 300, 400, 500, 700})
    for (const bool deflate : {false, true}) {
      const std::string bytes = archive(from, deflate);
      EXPECT_TRUE(deflate || bytes.size() > plain.size()) << from;
      expect_same(read_archive(bytes), kExpected);
    }
}

TEST(Zip64, MoreEntriesThanTheOldFormatCounts) {
  TempDir dir;
  Arrays arrays;
  for (int i = 0; i < 66'000; ++i) arrays.emplace(std::to_string(i), Array(i));
  write_npz(dir / "x", arrays);
  const Arrays got = read_npz(dir / "x");
  ASSERT_EQ(got.size(), arrays.size());
  EXPECT_EQ(got.at("65999").item(), 65'999);
}

TEST(Zip64, AnArchiveCutOrChangedAnywhereIsRefusedOrTheSame) {
  TempDir dir;
  const auto read = [&](const std::string& content) {
    put_bytes(dir / "x", content);
    return read_npz(dir / "x");
  };
  const std::string bytes = archive(1, true);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    EXPECT_THROW(read(bytes.substr(0, at)), FileError) << at;
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x15);
    try {
      expect_same(read(changed), kExpected);  // a flipped date, say
    } catch (const FileError&) {
    }
  }
}

TEST(Zip64, DirectoriesThatContradictEachOtherAreRefused) {
  TempDir dir;
  std::string bytes = archive(1);
  bytes.replace(bytes.size() - 22 + 8, 4, le<std::uint16_t>(1) + le<std::uint16_t>(1));
  put_bytes(dir / "x", bytes);
  EXPECT_EQ(file_error_of([&] { read_npz(dir / "x"); }),
            "[npz] '" + dir / "x" + "': expected the same numbers in both ends of the directory, got different ones.");
}

}  // namespace
}  // namespace belfry
