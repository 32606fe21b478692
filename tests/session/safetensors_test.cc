#include "belfry/session/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "belfry/base/error.h"
#include "belfry/base/file.h"
#include "tests/support/arrays.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

using namespace testing_support;  // NOLINT(google-build-using-namespace)

// A file with this header, whatever it says, and this much data.
std::string file_with(const std::string& header, const std::string& data = "") {
  const std::uint64_t length = header.size();
  std::string out(sizeof length, '\0');
  std::memcpy(out.data(), &length, sizeof length);
  return out + header + data;
}

// The error of reading these bytes, without the part that names the file.
std::string refusal_of(const std::string& bytes) {
  TempDir dir;
  put_bytes(dir / "x", bytes);
  const std::string text = file_error_of([&] { read_safetensors(dir / "x"); });
  const std::string front = "[safetensors] '" + dir / "x" + "': ";
  EXPECT_TRUE(text.starts_with(front)) << text;
  return text.substr(std::min(front.size(), text.size()));
}

TEST(Safetensors, EveryTypeAndShapeRoundTripsBitForBit) {
  TempDir dir;
  const std::map<std::string, std::string> metadata{{"step", "12"}, {"", "no key"}, {"note", "line\nbreak \xc3\xa9"}};
  write_safetensors(dir / "x", one_of_each(), metadata);
  const SafetensorsFile file = read_safetensors(dir / "x");
  expect_same(file.tensors, one_of_each());
  EXPECT_EQ(file.metadata, metadata);
}

TEST(Safetensors, NothingAtAllIsAFileToo) {
  TempDir dir;
  write_safetensors(dir / "x", {});
  const SafetensorsFile file = read_safetensors(dir / "x");
  EXPECT_TRUE(file.tensors.empty());
  EXPECT_TRUE(file.metadata.empty());
}

TEST(Safetensors, TheBytesAreTheFormats) {
  TempDir dir;
  write_safetensors(dir / "x", {{"b", Array::of<std::uint8_t>({2}, {7, 8})}, {"w", Array::of<float>({1, 1}, {1.f})}},
                    {{"k", "v"}});
  std::string header =
      R"({"__metadata__":{"belfry_checksums":"b147fd61 01d5e658 dd54c4ab","k":"v"},"b":{"data_offsets":[4,6],"dtype":"U8","shape":[2]},)"
      R"("w":{"data_offsets":[0,4],"dtype":"F32","shape":[1,1]}})";
  header.append((64 - (8 + header.size()) % 64) % 64, ' ');
  EXPECT_EQ(read_file(dir / "x"), file_with(header, std::string("\0\0\x80\x3f\x07\x08", 6)));
}

TEST(Safetensors, DataStartAtAMultipleOf64AndEveryArrayIsAligned) {
  TempDir dir;
  for (std::size_t length = 0; length < 70; length += 7) {
    Arrays arrays = one_of_each();
    arrays.emplace(std::string(length, 'n'), Array::of<std::uint8_t>({1}, {1}));
    write_safetensors(dir / "x", arrays);
    const std::string bytes = read_file(dir / "x");
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    EXPECT_EQ((8 + header) % 64, 0u);
    for (const auto& [name, array] : read_safetensors(dir / "x").tensors)
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.raw()) % size_of(array.dtype()), 0u) << name;
  }
}

TEST(Safetensors, LoadedArraysShareOneBlockAndOutliveTheFile) {
  TempDir dir;
  const Arrays before{{"a", Array::full(f32, {1000}, 3)}, {"b", Array::full(f32, {1000}, 4)}};
  write_safetensors(dir / "x", before);
  Array a, b;
  {
    SafetensorsFile file = read_safetensors(dir / "x");
    a = file.tensors.at("a");
    b = file.tensors.at("b");
  }
  EXPECT_EQ(static_cast<const std::byte*>(b.raw()) - static_cast<const std::byte*>(a.raw()), 4000) << "not in place";
  write_safetensors(dir / "x", {{"a", Array::full(f32, {1}, 5)}});
  std::filesystem::remove(dir / "x");
  EXPECT_EQ(a.item(999), 3);
  EXPECT_EQ(b.item(999), 4);
}

TEST(Safetensors, WritingToALoadedArrayNeverReachesTheFile) {
  TempDir dir;
  write_safetensors(dir / "x", {{"a", Array::full(f32, {4}, 3)}});
  SafetensorsFile file = read_safetensors(dir / "x");
  file.tensors.at("a").set_item(0, 8);
  EXPECT_EQ(file.tensors.at("a").item(0), 8);
  EXPECT_EQ(read_safetensors(dir / "x").tensors.at("a").item(0), 3);
}

TEST(Safetensors, MisalignedDataOfOtherWritersAreCopied) {
  TempDir dir;
  put_bytes(dir / "x", file_with(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[1,5]},)"
                                 R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}  )",
                                 std::string("\x09\0\0\x80\x3f", 5)));
  const SafetensorsFile file = read_safetensors(dir / "x");
  expect_same(file.tensors, {{"w", Array::of<float>({1}, {1.f})}, {"a", Array::of<std::uint8_t>({1}, {9})}});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.tensors.at("w").raw()) % 4, 0u);
}

TEST(Safetensors, AnErrorWhileWritingLeavesTheOldFile) {
  TempDir dir;
  write_safetensors(dir / "x", {{"a", Array(1.f)}});
  const std::string before = read_file(dir / "x");
  EXPECT_EQ(file_error_of([&] { write_safetensors(dir / "x", {{"\xff", Array(1.f)}}); }),
            "[safetensors] '" + dir / "x" + "': expected names and metadata in UTF-8, got other bytes. Rename them.");
  EXPECT_EQ(file_error_of([&] { write_safetensors(dir / "x", {{"__metadata__", Array(1.f)}}); }),
            "[safetensors] '" + dir / "x" +
                "': expected no tensor named '__metadata__', which the format reserves, got one. Rename it.");
  EXPECT_EQ(read_file(dir / "x"), before);
  EXPECT_EQ(dir.names(), std::vector<std::string>{"x"});
}

TEST(Safetensors, AFullDiskLeavesTheOldFileAndNoTemporary) {
  TempDir dir;
  write_safetensors(dir / "x", {{"a", Array(1.f)}});
  const std::string text = file_error_of([&] {
    FullDisk disk(10'000);
    write_safetensors(dir / "x", {{"a", Array::zeros(f32, {100'000})}});
  });
  EXPECT_TRUE(contains(text, "What was at this path before is unchanged.")) << text;
  expect_same(read_safetensors(dir / "x").tensors, {{"a", Array(1.f)}});
  EXPECT_EQ(dir.names(), std::vector<std::string>{"x"});
}

TEST(Safetensors, AFileCutAtAnyByteIsRefused) {
  TempDir dir;
  write_safetensors(dir / "x", one_of_each(), {{"k", "v"}});
  const std::string bytes = read_file(dir / "x");
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    put_bytes(dir / "cut", bytes.substr(0, length));
    EXPECT_THROW(read_safetensors(dir / "cut"), FileError) << length;
  }
  put_bytes(dir / "longer", bytes + "x");
  EXPECT_THROW(read_safetensors(dir / "longer"), FileError);
}

TEST(Safetensors, EveryFlippedBitIsFound) {
  TempDir dir;
  write_safetensors(dir / "x", {{"w", Array::of<float>({3}, {1, 2, 3})}, {"b", Array::of<bool>({2}, {true, false})}},
                    {{std::string("belfry_checkpoint"), "{}"}});
  const std::string bytes = read_file(dir / "x");
  // The name of the checksums is the one place where a reader cannot know better: the file then looks like one of
  // another program. A checkpoint must have them, so there it is found too.
  const std::size_t name = bytes.find("belfry_checksums");
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    if (bit / 8 >= name && bit / 8 < name + 16) continue;
    std::string flipped = bytes;
    flipped[bit / 8] ^= static_cast<char>(1 << bit % 8);
    put_bytes(dir / "flipped", flipped);
    EXPECT_THROW(read_safetensors(dir / "flipped"), FileError) << "bit " << bit % 8 << " of byte " << bit / 8;
  }
}

TEST(Safetensors, ADamagedTensorIsNamed) {
  TempDir dir;
  write_safetensors(dir / "x", {{"a", Array::full(f32, {1'000'000}, 1)}, {"b", Array::full(f32, {500'000}, 2)}});
  std::string bytes = read_file(dir / "x");
  bytes[bytes.size() - 1'000'000] ^= 1;
  const std::string text = refusal_of(bytes);
  EXPECT_TRUE(text.starts_with("tensor 'b': expected data with the checksum ")) << text;
  EXPECT_TRUE(text.ends_with(". The file is damaged.")) << text;
}

// Checked in a thread of its own.
TEST(Safetensors, ALargeFileIsReadAndDamageInItIsFound) {
  TempDir dir;
  const Arrays large{{"a", Array::full(f32, {4'000'000}, 1)}, {"b", Array::full(f32, {2'000'001}, 2)}};
  write_safetensors(dir / "x", large);
  expect_same(read_safetensors(dir / "x").tensors, large);
  std::string bytes = read_file(dir / "x");
  bytes[5'000'000] ^= 1;
  EXPECT_TRUE(refusal_of(bytes).starts_with("tensor 'a': expected data with the checksum "));
}

TEST(Safetensors, ADamagedHeaderIsSaid) {
  TempDir dir;
  write_safetensors(dir / "x", {{"a", Array(1.f)}});
  std::string bytes = read_file(dir / "x");
  bytes[bytes.find("\"a\"") + 1] = 'b';
  const std::string text = refusal_of(bytes);
  EXPECT_TRUE(text.starts_with("expected a header with the checksum ")) << text;
  EXPECT_TRUE(
      text.ends_with(" The file is damaged, or another program has copied the metadata 'belfry_checksums' into "
                     "a file of its own, which it must leave out."))
      << text;
}

TEST(Safetensors, ChecksumsThatAreNoneAreRefused) {
  const std::string tensor = R"(,"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  for (const std::string checksums : {"", "00000000", "00000000 0000000A", "00000000,00000000", "00000000 00000000 "})
    EXPECT_EQ(refusal_of(file_with(R"({"__metadata__":{"belfry_checksums":")" + checksums + "\"}" + tensor, "x")),
              "expected checksums of the header and 1 tensors in 'belfry_checksums', got '" + checksums +
                  "'. The file is damaged.");
  EXPECT_TRUE(refusal_of(file_with(R"({"__metadata__": {"belfry_checksums": "00000000 00000000"})" + tensor, "x"))
                  .starts_with("expected a header with the checksum 00000000, got 00000000."))
      << "only as we write them";
  TempDir dir;
  EXPECT_EQ(file_error_of([&] { write_safetensors(dir / "x", {}, {{"belfry_checksums", ""}}); }),
            "[safetensors] '" + dir / "x" +
                "': expected no metadata named 'belfry_checksums', which is written here, got some. Leave it out.");
}

TEST(Safetensors, NamesThatLookLikeChecksumsDoNotHideThem) {
  TempDir dir;
  const Arrays tricky{{"{\"belfry_checksums\":\"00000000", Array(1.f)}, {",\"belfry_checksums\":\"", Array(2.f)}};
  const std::map<std::string, std::string> metadata{{"a,\"belfry_checksums", "\"belfry_checksums\":\"00000000"}};
  write_safetensors(dir / "x", tricky, metadata);
  expect_same(read_safetensors(dir / "x").tensors, tricky);
  EXPECT_EQ(read_safetensors(dir / "x").metadata, metadata);
  EXPECT_TRUE(list_safetensors(dir / "x").has_checksums);
}

TEST(Safetensors, AListingReadsNoData) {
  TempDir dir;
  write_safetensors(dir / "x", one_of_each(), {{"k", "v"}});
  std::string bytes = read_file(dir / "x");
  bytes.back() ^= 1;
  put_bytes(dir / "x", bytes);
  const SafetensorsListing listing = list_safetensors(dir / "x");
  EXPECT_EQ(listing.metadata, (std::map<std::string, std::string>{{"k", "v"}}));
  ASSERT_EQ(listing.tensors.size(), one_of_each().size());
  for (const auto& [name, array] : one_of_each()) {
    EXPECT_EQ(listing.tensors.at(name).dtype, array.dtype()) << name;
    EXPECT_EQ(listing.tensors.at(name).shape, array.shape()) << name;
  }
  EXPECT_THROW(read_safetensors(dir / "x"), FileError);
  const std::string header = bytes.substr(0, bytes.size() - 1);  // cut short is seen all the same
  put_bytes(dir / "x", header);
  EXPECT_THROW(list_safetensors(dir / "x"), FileError);
}

TEST(Safetensors, LengthsBeyondTheFileAreRefused) {
  EXPECT_EQ(refusal_of(""), "expected at least 8 bytes, got 0. The file may be cut short.");
  EXPECT_EQ(refusal_of(std::string(8, '\xff') + "{}"),
            "expected a header of at most 2 bytes, got a length of 18446744073709551615. "
            "The file may be cut short, or not a safetensors file.");
  EXPECT_EQ(refusal_of(std::string(8, '\0')),
            "expected a header of JSON text that starts with '{', got something else. Is this a safetensors file?");
}

TEST(Safetensors, AHeaderPastTheCapIsRefusedUnread) {
  TempDir dir;
  const std::uint64_t length = 100'000'001;
  std::string front(8, '\0');
  std::memcpy(front.data(), &length, 8);
  put_bytes(dir / "x", front + "{}");
  std::filesystem::resize_file(dir / "x", 200'000'000);  // sparse: takes no space
  EXPECT_TRUE(contains(file_error_of([&] { read_safetensors(dir / "x"); }),
                       "expected a header of at most 100000000 bytes, got a length of 100000001."));
}

struct Hostile {
  std::string header, data, refusal;
};

TEST(Safetensors, HeadersThatLieAreRefusedWithTheReason) {
  const std::string four(4, '\1');
  const std::string no_header =
      "expected a header of JSON text that starts with '{', got something else. Is this a safetensors file?";
  const Hostile cases[] = {
      {R"({"w":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", four,
       "tensor 'w': expected dimensions of 0 or more, got -1."},
      {R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}})", four,
       "tensor 'w': expected data_offsets of 0 or more, got -4."},
      {R"({"w":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", four,
       "tensor 'w': expected whole numbers, got '1.0'."},
      {R"({"w":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]}})", four,
       "tensor 'w': expected dimensions below 2^63, got 18446744073709551615."},
      {R"({"w":{"dtype":"F32","shape":[99999999999999999999],"data_offsets":[0,4]}})", four,
       "tensor 'w': expected whole numbers, got '99999999999999999999'."},
      {R"({"w":{"dtype":"F32","shape":[4294967296,4294967296,1],"data_offsets":[0,4]}})", four,
       "tensor 'w': expected a shape whose size fits 63 bits, got [4294967296, 4294967296, 1]."},
      {R"({"w":{"dtype":"F32","shape":[4294967296,4294967296,0],"data_offsets":[0,0]}})", "",
       "tensor 'w': expected a shape whose size fits 63 bits, got [4294967296, 4294967296, 0]."},
      {R"({"w":{"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]}})", four,
       "tensor 'w': expected a shape whose size fits 63 bits, got [4611686018427387905]."},
      {R"({"w":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,4],"data_offsets":[0,4]}})", four,
       "tensor 'w': expected at most 8 dimensions, got more."},
      {R"({"w":{"dtype":"C64","shape":[2],"data_offsets":[0,4]}})", four,
       "tensor 'w': expected a dtype of F32, F64, I32, I64, U8, BOOL or F16, BF16, F8_E4M3, F8_E5M2, I8, I16, U16, "
       "U32, U64, got 'C64'."},
      {R"({"w":{"dtype":"F16","shape":[3],"data_offsets":[0,4]}})", four,
       "tensor 'w': expected 6 bytes for f16 [3], got data_offsets [0, 4]."},
      {R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})", four,
       "tensor 'w': expected data_offsets within the file's 4 bytes of data, got [0, 8]. The file may be cut short."},
      {R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", four,
       "tensor 'w': expected data_offsets within the file's 4 bytes of data, got [4, 0]. The file may be cut short."},
      {R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", four,
       "tensor 'w': expected 8 bytes for f32 [2], got data_offsets [0, 4]."},
      {R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
       four, "tensor 'b': expected its data to start at 3, where the one before ends, got 2."},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
       four, "tensor 'b': expected its data to start at 1, where the one before ends, got 2."},
      {R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})", four,
       "expected the tensors to fill 4 bytes of data, got 3."},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
       four, "expected every name once, got 'a' twice."},
      {R"({"__metadata__":{},"__metadata__":{}})", "", "expected every name once, got '__metadata__' twice."},
      {R"({"__metadata__":{"k":"1","k":"2"}})", "", "expected every name once, got 'k' twice in __metadata__."},
      {R"({"__metadata__":{"k":1}})", "", "expected __metadata__ to hold strings, got a number."},
      {R"({"__metadata__":{"k":{"deeper":1}}})", "", "expected __metadata__ to hold strings, got an object."},
      {R"({"a":{"dtype":"U8","dtype":"U8","shape":[4],"data_offsets":[0,4]}})", four,
       "tensor 'a': expected every field once, got 'dtype' twice."},
      {R"({"a":{"dtype":"U8","shape":[4]}})", four,
       "tensor 'a': expected dtype, shape and data_offsets, got only some of them."},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"extra":1}})", four,
       "tensor 'a': expected dtype, shape and data_offsets, got a field 'extra'."},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0]}})", four, "tensor 'a': expected two data_offsets, got 1."},
      {R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,1,2]}})", four,
       "tensor 'a': expected two data_offsets, got more."},
      {R"({"a":{"dtype":"U8","shape":4,"data_offsets":[0,4]}})", four,
       "tensor 'a': expected an array of whole numbers, got a number."},
      {R"({"a":{"dtype":["U8"],"shape":[4],"data_offsets":[0,4]}})", four,
       "tensor 'a': expected a string for dtype, got an array."},
      {R"({"a":{"dtype":"U8","shape":[[4]],"data_offsets":[0,4]}})", four,
       "tensor 'a': expected whole numbers, got an array."},
      {R"({"a":{"dtype":"U8","shape":[null],"data_offsets":[0,4]}})", four,
       "tensor 'a': expected whole numbers, got null."},
      {R"({"a":[1]})", "", "expected an object for 'a', got an array."},
      {R"({"a":true})", "", "expected an object for 'a', got a boolean."},
      {R"({"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", std::string("\1\2"),
       "tensor 'a': expected booleans of 0 or 1, got another byte."},
      {R"({"a":)", "", "expected a header of well-formed JSON, got an error at byte 6 of it."},
      {R"({}{})", "", "expected a header of well-formed JSON, got an error at byte 3 of it."},
      {"{\"\xff\":1}", "", "expected a header of well-formed JSON, got an error at byte 3 of it."},
      {std::string("{}\0{}", 5), "", no_header},
      {" {}", "", no_header},
      {"[]", "", no_header},
  };
  for (const Hostile& hostile : cases)
    EXPECT_EQ(refusal_of(file_with(hostile.header, hostile.data)), hostile.refusal) << hostile.header;
}

TEST(Safetensors, DeepNestingIsRefusedAtItsFirstStep) {
  const std::size_t depth = 1'000'000;
  EXPECT_EQ(refusal_of(file_with("{\"a\":" + std::string(depth, '['))), "expected an object for 'a', got an array.");
  std::string objects = "{";
  for (std::size_t i = 0; i < depth / 10; ++i) objects += "\"a\":{";
  EXPECT_EQ(refusal_of(file_with(objects)), "tensor 'a': expected dtype, shape and data_offsets, got a field 'a'.");
}

TEST(Safetensors, LongNamesAreCutInErrors) {
  EXPECT_EQ(refusal_of(file_with("{\"" + std::string(5000, 'n') + "\":1}")),
            "expected an object for '" + std::string(100, 'n') + "...', got a number.");
}

TEST(Safetensors, AMissingFileIsSaid) {
  TempDir dir;
  EXPECT_TRUE(contains(file_error_of([&] { read_safetensors(dir / "none"); }), "No such file or directory"));
}

}  // namespace
}  // namespace belfry
