// Writes the seeds of tests/fuzz/corpus again: fuzz_make_seeds FOLDER. Small files that are right, and a few that are
// nearly: what fuzzers start from. Those of optional parts only where these are built.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "belfry/array/internal/zip.h"
#include "belfry/array/npz.h"
#include "belfry/base/file.h"
#include "belfry/dataflow/encoding.h"
#include "belfry/dataflow/internal/point_file.h"
#include "belfry/dataflow/sources/example.h"
#include "belfry/dataflow/sources/tfrecord.h"
#include "tests/dataflow/idx_files.h"
#include "tests/support/files.h"
#include "tests/support/tf_tables.h"
#include "tests/support/zip_maker.h"
#ifdef BELFRY_HAS_IMAGES
#include "belfry/dataflow/png.h"
#include "tests/dataflow/image/codecs/image_bytes.h"
#include "tests/dataflow/image/pictures.h"
#endif
#ifdef BELFRY_HAS_LMDB
#include "belfry/dataflow/lmdb/internal/lmdb_record.h"
#endif
#ifdef BELFRY_HAS_ZEROMQ
#include "belfry/dataflow/remote/internal/wire.h"
#endif

namespace belfry {
namespace {

using Seeds = std::vector<std::pair<std::string, std::string>>;  // name, bytes

DataPoint small_point() { return {Array(3), Array::of<float>({2}, {1, 2})}; }

Seeds idx_seeds() {
  const std::string bytes = idx_bytes(0x08, {2, 3}, "abcdef"),
                    numbers = idx_bytes(0x0C, {2, 1, 2}, std::string(16, '\1'));
  return {{"bytes", bytes},
          {"integers", numbers},
          {"doubles", idx_bytes(0x0E, {1}, std::string(8, '\2'))},
          {"scalar", idx_bytes(0x0D, {}, "1234")},
          {"empty", idx_bytes(0x0D, {0, 7}, "")},
          {"gzipped", gzip(numbers)},
          {"two_members", gzip(bytes.substr(0, 9)) + gzip(bytes.substr(9))},
          {"truncated", numbers.substr(0, 20)},
          {"huge", idx_bytes(0x0D, {0x7fffffff, 0x7fffffff, 0x7fffffff}, "1234")}};
}

Seeds encoding_seeds() {
  const std::string point = encode({Array(3), Array::of<float>({2, 2}, {1, 2, 3, 4})});
  return {{"point", point},
          {"empty", encode({})},
          {"types", encode({Array(1.5), Array(true), Array(std::int64_t{-1}), Array(u8, {0, 3})})},
          {"truncated", point.substr(0, point.size() - 3)}};
}

// A record of 3073 bytes is most of a fuzzer's time: here it is nearly empty, and packed.
Seeds cifar_seeds() {
  const std::string ten = '\7' + std::string(3072, '\1'), hundred = std::string("\3\x32") + std::string(3072, '\2');
  return {{"ten", gzip(ten + ten)},
          {"hundred", gzip(hundred)},
          {"plain", ten},
          {"label", gzip('\xff' + ten.substr(1))},
          {"truncated", ten.substr(0, 100)}};
}

std::string file_of(const std::function<void(const std::string&)>& write) {
  const TemporaryFiles files;
  write(files.path("seed"));
  return read_file(files.path("seed"));
}

Seeds npz_seeds() {
  using testing_support::npy;
  using testing_support::npy_dict;
  using testing_support::zip_of;
  const std::map<std::string, Array> arrays{{"x", Array::of<float>({2, 2}, {1, 2, 3, 4})},
                                            {"y", Array::of<bool>({2}, {true, false})}};
  const std::string content = npy(npy_dict("|u1", "(3,)"), "abc");
  const std::string large = file_of([&](const std::string& path) {
    ZipWriter writer(path, false, 1);
    for (const char* name : {"a.npy", "b.npy"}) writer.add(name, content, {});
    writer.commit();
  });
  return {{"stored", file_of([&](const std::string& path) { write_npz(path, arrays); })},
          {"deflated", file_of([&](const std::string& path) { write_npz(path, arrays, {.deflate = true}); })},
          {"zip64", large},
          {"npy", file_of([&](const std::string& path) { write_npy(path, arrays.at("x")); })},
          {"npy2", npy(npy_dict("<i8", "()"), std::string(8, '\1'), 2)},
          {"fortran",
           zip_of({{.name = "w.npy", .content = npy(npy_dict(">i4", "(2, 2)", "True"), std::string(16, '\1'))}})},
          {"comment", zip_of({{.name = "w.npy", .content = content, .method = 8}}, "comment")},
          {"crc", zip_of({{.name = "w.npy", .content = content, .crc = 1}})},
          {"size", zip_of({{.name = "w.npy", .content = content, .size = 1'000'000'000}})}};
}

Seeds svmlight_seeds() {
  return {{"plain", "+1 1:0.5 3:-2e-1 # comment\n\n-1 qid:7 2:4\n0.5\n"},
          {"zero", "2 0:1 3:2\n"},
          {"multilabel", "0,2 1:1\n 1:2\n1\n"},
          {"index", "1 16000000:1\n"},
          {"gzipped", gzip("1 1:1 2:2\n")},
          {"wrong", "1 2:1 1:x\n"}};
}

Seeds text_seeds() {
  return {{"words", "the cat\tsat\r\n\nthe dog\n"},
          {"unicode", "n\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\n"},
          {"latin", "caf\xe9\n"},
          {"surrogate", "\xed\xa0\x80"},
          {"gzipped", gzip("a b c\n")}};
}

Seeds vocabulary_seeds() {
  return {{"words", "belfry vocabulary 1 words\n<eos>\n<unk>\nthe\n<eos>\n"},
          {"characters", "belfry vocabulary 1 characters\n\n<unk>\n\\n\n\\\\\n\xc3\xa9\n"},
          {"lines", "belfry vocabulary 1 lines\n\n?\na line\n"},
          {"twice", "belfry vocabulary 1 words\n\n<unk>\na\na\n"},
          {"truncated", "belfry vocabulary 1 words\n\n<unk"}};
}

Seeds tfrecord_seeds() {
  const auto records = [](const std::vector<std::string>& contents) {
    return file_of([&](const std::string& path) {
      TFRecordWriter writer(path);
      for (const std::string& content : contents) writer.write(content);
      writer.finish();
    });
  };
  return {{"records", records({"abc", "", "defgh"})},
          {"point", records({encode(small_point())})},
          {"example", encode_example({{"a", Array::of<std::int64_t>({3}, {1, 300, -1})},
                                      {"b", Array::of<float>({2}, {1, 2})},
                                      {"c", Array::of<std::uint8_t>({3}, {7, 8, 9})}})},
          // The int64 list 5, 6, 7 of the feature "x", each with a tag of its own, as old writers have it.
          {"unpacked", "\n\x0f\n\r\n\1x\x12\x08\x1a\6\x08\5\x08\6\x08\7"}};
}

Seeds point_file_seeds() {
  const auto points_file = [](int points, const std::string& text) {
    return file_of([&](const std::string& path) {
      PointFileWriter writer(path);
      for (int i = 0; i < points; ++i) writer.add(i == 1 ? DataPoint{} : small_point());
      writer.commit(text);
    });
  };
  const std::string three = points_file(3, "list, 3 points");
  return {{"three", three},
          {"one", points_file(1, "")},
          {"empty", points_file(0, "nothing")},
          {"damaged", three.substr(0, 8) + '?' + three.substr(9)},
          {"truncated", three.substr(0, three.size() - 5)},
          {"begin", three.substr(0, 8)}};
}

// See tf_checkpoint_fuzz.cc.
Seeds tf_checkpoint_seeds() {
  using namespace testing_support;  // NOLINT(google-build-using-namespace)
  const auto two = [](char kind, const std::string& first, const std::string& second) {
    std::string out(1, kind);
    append_little_endian(out, static_cast<std::uint16_t>(first.size()));
    return out + first + second;
  };
  const std::string bytes = "0123456789abcdef";
  const auto sum = [&](std::size_t begin, std::size_t size) { return tf_checksum(bytes.substr(begin, size)); };
  const std::string types = tf_entries(
      {{"", tf_header()},
       {"_CHECKPOINTABLE_OBJECT_GRAPH", tf_entry({.type = 7, .offset = 12, .size = 4})},
       {"a.Sb/.ATTRIBUTES/VARIABLE_VALUE", tf_entry({.type = 6, .dims = {4}, .size = 4, .checksum = sum(0, 4)})},
       {"half", tf_entry({.type = 19, .dims = {1, 1}, .offset = 4, .size = 2, .checksum = sum(4, 2)})},
       {"w:0", tf_entry({.dims = {1}, .offset = 6, .size = 4, .checksum = sum(6, 4)})}});
  // The keys of the slices [0:1, :] and [1:2, :] of "w".
  const std::string front("\0w\0\1\1\2", 6);
  const std::string parts = tf_entries(
      {{"", tf_header()},
       {front + "\x80\x81\x80\x7f", tf_entry({.dims = {1, 2}, .size = 8, .checksum = sum(0, 8)})},
       {front + "\x81\x81\x80\x7f", tf_entry({.dims = {1, 2}, .offset = 8, .size = 8, .checksum = sum(8, 8)})},
       {"w", tf_entry({.dims = {2, 2}, .slices = {{{0, 1}, {}}, {{1, 1}, {}}}})}});
  return {{"files", two(0, tf_table(types), bytes)},
          {"files_cut", two(0, tf_table(types).substr(0, 300), bytes)},
          {"types", two(1, types, bytes)},
          {"parts", two(1, parts, bytes)},
          {"parts_cut", two(1, parts, bytes.substr(0, 12))},
          {"snappy", std::string("\2\x0a\4ab\x11\2", 7)},
          {"snappy_literal", std::string("\2\x3d\xf0\x3c", 4) + std::string(61, 'x')}};
}

// With no picture in them: what is looked at is how files are put together.
Seeds image_end_seeds() {
  const std::string begin("\xff\xd8", 2), end("\xff\xd9", 2);
  const auto segment = [](char marker, const std::string& content) {
    return std::string{'\xff', marker, '\0', static_cast<char>(content.size() + 2)} + content;
  };
  const std::string scan = segment('\xda', "scan") + std::string(
                                                         "ab\xff\0cd\xff\xd0"
                                                         "ef",
                                                         10);
  const std::string jpeg = begin + segment('\xe0', "JFIF") + segment('\xe1', begin + "thumbnail" + end) + scan + end;
  const auto chunk = [](const std::string& name, const std::string& content) {
    return std::string{'\0', '\0', '\0', static_cast<char>(content.size())} + name + content + "sum.";
  };
  const std::string signature = "\x89PNG\r\n\x1a\n", header = chunk("IHDR", std::string(13, '\1'));
  const std::string png = signature + header + chunk("IDAT", "pixels") + chunk("IEND", "");
  return {{"jpeg", jpeg},
          {"progressive", begin + scan + scan + "\xff" + end + "behind"},
          {"jpeg_cut", jpeg.substr(0, jpeg.size() - 2)},
          {"jpeg_in_segment", jpeg.substr(0, 15)},
          {"png", png},
          {"png_behind", png + "behind"},
          {"png_cut", png.substr(0, png.size() - 6)},
          {"png_huge", signature + header + "\xff\xff\xff\xffIDAT"},
          {"webp", std::string("RIFF\x0e\0\0\0WEBPEXIF\x02\0\0\0MM", 22)},
          {"webp_cut", std::string("RIFF\x0f\0\0\0WEBPEXIF\xff\0\0\0MM", 22)},
          {"exif", std::string("Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0", 28)}};
}

#ifdef BELFRY_HAS_IMAGES
// The first byte is the target's: grey or colours, turned upright or not, strict or not.
Seeds decode_image_seeds() {
  const Array picture = numbered_picture(5, 7), clear = numbered_picture(5, 7, 4);
  const std::string jpeg = jpeg_bytes(picture), png = text_of(encode_png(picture)), webp = webp_bytes(picture);
  const std::string palette = png_chunk("PLTE", std::string(6, '\x20')) + png_chunk("tRNS", "\x64");
  return {
      {"jpeg", '\4' + with_exif(jpeg, exif_bytes(6))},
      {"jpeg_strict", '\x0c' + jpeg},
      {"jpeg_grey", '\2' + jpeg},
      {"jpeg_progressive", '\4' + jpeg_bytes(picture, {.progressive = true})},
      {"jpeg_restarts", '\1' + jpeg_bytes(picture, {.restart_interval = 1})},
      {"jpeg_inks", '\2' + jpeg_bytes(clear, {.colours = JCS_CMYK, .stored = JCS_YCCK})},
      {"jpeg_damaged", '\4' + jpeg.substr(0, jpeg.size() - 30) + jpeg.substr(jpeg.size() - 2)},
      {"png", '\4' + png},
      {"png_strict", '\x0f' + png},
      {"png_clear", '\3' + text_of(encode_png(clear))},
      {"png_interlaced", '\1' + interlaced_png_bytes(picture)},
      {"png_palette", '\3' + png_bytes({.width = 2, .height = 1, .bits = 1, .colours = 3, .chunks = palette}, {"@"})},
      {"png_exif", '\6' + png_bytes({.width = 1, .height = 1, .chunks = png_chunk("eXIf", exif_bytes(5))}, {"a"})},
      {"png_huge", '\0' + png_bytes({.width = 1'000'000, .height = 1'000}, {"a"})},
      {"webp", '\4' + webp},
      {"webp_lossy", '\2' + webp_bytes(picture, false)},
      {"webp_clear", '\3' + webp_bytes(clear)},
      {"webp_clear_lossy", '\3' + webp_bytes(clear, false)},
      {"webp_exif",
       '\4' + webp_file_of(webp_header_chunk(8, 7, 5) + webp.substr(12) + webp_chunk_bytes("EXIF", exif_bytes(8)))},
      {"bmp",
       "\4"
       "BM"}};
}
#endif

#ifdef BELFRY_HAS_LMDB
Seeds lmdb_record_seeds() {
  return {
      {"record", encode_lmdb_record(small_point())}, {"point", encode(small_point())}, {"meta", encode_lmdb_meta(17)}};
}
#endif

#ifdef BELFRY_HAS_ZEROMQ
Seeds wire_seeds() {
  const auto message = [](WireKind kind, const std::string& payload) {
    std::string bytes(kWireHeaderBytes, '\0');
    write_wire_header({.kind = kind, .sender = 1, .pass = 2, .index = 3}, std::as_writable_bytes(std::span(bytes)));
    return bytes + payload;
  };
  return {{"point", message(WireKind::point, encode(small_point()))},
          {"end", message(WireKind::end, "")},
          {"error", message(WireKind::error, "failed")}};
}
#endif

void write_seeds(const std::string& folder, const std::string& target, const Seeds& seeds) {
  std::filesystem::create_directories(folder + "/" + target);
  for (const auto& [name, bytes] : seeds) testing_support::put_bytes(folder + "/" + target + "/" + name, bytes);
}

}  // namespace
}  // namespace belfry

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: fuzz_make_seeds FOLDER\n");
    return 2;
  }
  belfry::write_seeds(argv[1], "idx", belfry::idx_seeds());
  belfry::write_seeds(argv[1], "encoding", belfry::encoding_seeds());
  belfry::write_seeds(argv[1], "cifar", belfry::cifar_seeds());
  belfry::write_seeds(argv[1], "npz", belfry::npz_seeds());
  belfry::write_seeds(argv[1], "svmlight", belfry::svmlight_seeds());
  belfry::write_seeds(argv[1], "text", belfry::text_seeds());
  belfry::write_seeds(argv[1], "vocabulary", belfry::vocabulary_seeds());
  belfry::write_seeds(argv[1], "tfrecord", belfry::tfrecord_seeds());
  belfry::write_seeds(argv[1], "point_file", belfry::point_file_seeds());
  belfry::write_seeds(argv[1], "tf_checkpoint", belfry::tf_checkpoint_seeds());
  belfry::write_seeds(argv[1], "image_end", belfry::image_end_seeds());
#ifdef BELFRY_HAS_IMAGES
  belfry::write_seeds(argv[1], "decode_image", belfry::decode_image_seeds());
#endif
#ifdef BELFRY_HAS_LMDB
  belfry::write_seeds(argv[1], "lmdb_record", belfry::lmdb_record_seeds());
#endif
#ifdef BELFRY_HAS_ZEROMQ
  belfry::write_seeds(argv[1], "wire", belfry::wire_seeds());
#endif
}
