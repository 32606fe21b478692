#include "belfry/dataflow/sources/idx.h"

#include <algorithm>
#include <span>

#include "belfry/base/check.h"
#include "belfry/dataflow/sources/byte_source.h"

namespace belfry {
namespace {

constexpr const char* kFetchAgain = "Fetch the file again.";

std::uint32_t big_endian(const unsigned char* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
}

DType element_type(unsigned code, const std::string& path) {
  switch (code) {
    case 0x08: return u8;
    case 0x0C: return i32;
    case 0x0D: return f32;
    case 0x0E: return f64;
    case 0x09:
    case 0x0B:
      fail<FileError>("[read_idx] expected elements of type u8, i32, f32 or f64, got {} in '{}', which has no DType.",
                      code == 0x09 ? "i8" : "i16", path);
    default:
      fail<FileError>(
          "[read_idx] expected an element type of idx in the third byte, got {:#04x} in '{}'. Is this an idx "
          "file?",
          code, path);
  }
}

struct Header {
  DType dtype = u8;
  Shape shape;
  std::uint64_t bytes = 0;       // of the header itself
  std::uint64_t data_bytes = 0;  // of the elements
};

Header read_header(ByteSource& file, const std::string& path) {
  unsigned char magic[4] = {};
  const std::size_t got = file.read(magic, sizeof magic);
  BELFRY_CHECK_AS(FileError, got == sizeof magic,
                  "[read_idx] expected at least 4 bytes, got {} in '{}'. Is this an idx file?", got, path);
  BELFRY_CHECK_AS(
      FileError, magic[0] == 0 && magic[1] == 0,
      "[read_idx] expected the two zero bytes that an idx file begins with, got {:02x} {:02x} in '{}'. Is this "
      "an idx file?",
      magic[0], magic[1], path);
  Header header{.dtype = element_type(magic[2], path), .shape = {}};
  const unsigned rank = magic[3];
  BELFRY_CHECK_AS(FileError, rank <= kMaxRank, "[read_idx] expected at most {} dimensions, got {} in '{}'.", kMaxRank,
                  rank, path);
  header.bytes = sizeof magic + 4 * rank;
  for (unsigned axis = 0; axis < rank; ++axis) {
    unsigned char size[4] = {};
    BELFRY_CHECK_AS(FileError, file.read(size, sizeof size) == sizeof size,
                    "[read_idx] expected {} dimensions, but '{}' ends before them. {}", rank, path, kFetchAgain);
    header.shape.push_back(big_endian(size));
  }
  const auto data_bytes = checked_bytes(header.dtype, header.shape);
  BELFRY_CHECK_AS(FileError, data_bytes.has_value(),
                  "[read_idx] expected a size that memory can hold, got {} in '{}'. {}", to_string(header.shape), path,
                  kFetchAgain);
  header.data_bytes = *data_bytes;
  return header;
}

void check_length(const Header& header, const ByteSource& file, const std::string& path) {
  const std::uint64_t claimed = header.bytes + header.data_bytes;
  BELFRY_CHECK_AS(FileError, claimed <= file.max_bytes(),
                  "[read_idx] expected {} bytes for {} {}, got {} {} in '{}'. The file is truncated or damaged. {}",
                  claimed, name_of(header.dtype), to_string(header.shape), file.gzipped() ? "at most" : "only",
                  file.max_bytes(), path, kFetchAgain);
}

void to_host_order(Array& array) {
  const std::size_t size = size_of(array.dtype());
  if (size == 1) return;
  const std::span bytes(static_cast<unsigned char*>(array.raw()), array.bytes());
  for (std::size_t at = 0; at < bytes.size(); at += size) std::ranges::reverse(bytes.subspan(at, size));
}

}  // namespace

Array read_idx(const std::string& path) {
  ByteSource file(path, "read_idx");
  const Header header = read_header(file, path);
  check_length(header, file, path);
  Array array(header.dtype, header.shape);
  const std::size_t got = file.read(array.raw(), array.bytes());
  BELFRY_CHECK_AS(FileError, got == array.bytes(),
                  "[read_idx] expected {} bytes of elements for {} {}, got only {} in '{}'. The file is truncated. {}",
                  array.bytes(), name_of(header.dtype), to_string(header.shape), got, path, kFetchAgain);
  char extra = 0;
  BELFRY_CHECK_AS(FileError, file.read(&extra, 1) == 0,
                  "[read_idx] expected the end of '{}' after {} {}, got more bytes. {}", path, name_of(header.dtype),
                  to_string(header.shape), kFetchAgain);
  to_host_order(array);
  return array;
}

}  // namespace belfry
