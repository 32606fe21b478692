#include "belfry/session/internal/tf/tensor_bundle.h"

#include <string_view>

#include "belfry/array/internal/stored_array.h"
#include "belfry/base/check.h"
#include "belfry/base/file.h"
#include "belfry/base/internal/protobuf_wire.h"
#include "belfry/base/internal/quotes.h"
#include "belfry/session/internal/tf/sorted_table.h"

namespace belfry {
namespace {

constexpr std::uint64_t kOurVersion = 1;
// More than TensorFlow can make (254 axes) or than anybody wants: what a few damaged bytes could otherwise claim.
constexpr std::size_t kMostAxes = 254, kMostSlices = 10'000;
constexpr std::uint64_t kMostFiles = 99'999;  // there are five digits for them

using Wire = WireReader;

struct Header {
  std::uint64_t files = 0, big_endian = 0, oldest_reader = 0;
};

Header header_in(std::string_view bytes, std::string_view where) {
  Header out;
  for (Wire fields(bytes, where); fields.next();) {
    if (fields.is(1, Wire::kVarint)) out.files = fields.number();
    if (fields.is(2, Wire::kVarint)) out.big_endian = fields.number();
    if (fields.is(3, Wire::kBytes))
      for (Wire version(fields.bytes(), where); version.next();)
        if (version.is(2, Wire::kVarint)) out.oldest_reader = version.number();
  }
  return out;
}

void check_header(const Header& header, const std::string& path) {
  BELFRY_CHECK_AS(
      FileError, header.oldest_reader <= kOurVersion,
      "[tf_checkpoint] '{}': expected a checkpoint that readers of version {} can read, got one for version "
      "{} or later. Save it with an older TensorFlow, or as .npz.",
      path, kOurVersion, header.oldest_reader);
  BELFRY_CHECK_AS(FileError, header.big_endian == 0,
                  "[tf_checkpoint] '{}': expected little-endian data, got big-endian. Load and save it on a machine "
                  "with the other byte order, as .npz.",
                  path);
  BELFRY_CHECK_AS(FileError, header.files >= 1 && header.files <= kMostFiles,
                  "[tf_checkpoint] '{}': expected 1 to {} data files, got {}. The file is damaged.", path, kMostFiles,
                  header.files);
}

// Keys of slices are not for people to read.
std::string shown(std::string_view key) {
  return key.starts_with('\0') ? "a slice" : fmt::format("tensor {}", in_quotes(key));
}

// A number that TensorFlow has as an int64.
std::int64_t signed_number(const Wire& field) { return static_cast<std::int64_t>(field.number()); }

std::vector<std::int64_t> dims_in(std::string_view shape, const std::string& where) {
  std::vector<std::int64_t> out;
  for (Wire fields(shape, where); fields.next();) {
    BELFRY_CHECK_AS(FileError, !fields.is(3, Wire::kVarint) || fields.number() == 0,
                    "[tf_checkpoint] {}: expected a shape, got one of unknown rank. The file is damaged.", where);
    if (!fields.is(2, Wire::kBytes)) continue;
    std::int64_t size = 0;
    for (Wire axis(fields.bytes(), where); axis.next();)
      if (axis.is(1, Wire::kVarint)) size = signed_number(axis);
    BELFRY_CHECK_AS(
        FileError, size >= 0 && out.size() < kMostAxes,
        "[tf_checkpoint] {}: expected at most {} axes with sizes of 0 or more, got size {} for axis {}. The "
        "file is damaged.",
        where, kMostAxes, size, out.size());
    out.push_back(size);
  }
  return out;
}

BundleSlice slice_in(std::string_view bytes, const std::string& where) {
  BundleSlice out;
  for (Wire fields(bytes, where); fields.next();) {
    if (!fields.is(1, Wire::kBytes)) continue;
    BELFRY_CHECK_AS(FileError, out.size() < kMostAxes,
                    "[tf_checkpoint] {}: expected slices of at most {} axes, got more. The file is damaged.", where,
                    kMostAxes);
    BundleExtent& extent = out.emplace_back();
    for (Wire parts(fields.bytes(), where); parts.next();) {
      if (parts.is(1, Wire::kVarint)) extent.start = signed_number(parts);
      if (parts.is(2, Wire::kVarint)) extent.length = signed_number(parts);
    }
  }
  return out;
}

BundleEntry entry_in(std::string_view bytes, const std::string& where) {
  BundleEntry out;
  for (Wire fields(bytes, where); fields.next();) {
    if (fields.is(1, Wire::kVarint)) out.type = fields.number();
    if (fields.is(2, Wire::kBytes)) out.dims = dims_in(fields.bytes(), where);
    if (fields.is(3, Wire::kVarint)) out.file = fields.number();
    if (fields.is(4, Wire::kVarint)) out.offset = fields.number();
    if (fields.is(5, Wire::kVarint)) out.size = fields.number();
    if (fields.is(6, Wire::kFixed32))
      out.checksum = load_little_endian<std::uint32_t>(reinterpret_cast<const std::byte*>(fields.bytes().data()));
    if (!fields.is(7, Wire::kBytes)) continue;
    BELFRY_CHECK_AS(FileError, out.slices.size() < kMostSlices,
                    "[tf_checkpoint] {}: expected at most {} slices, got more. The file is damaged.", where,
                    kMostSlices);
    out.slices.push_back(slice_in(fields.bytes(), where));
  }
  return out;
}

void check_entry(const BundleEntry& entry, std::uint64_t files, const std::string& where) {
  BELFRY_CHECK_AS(FileError, entry.file < files,
                  "[tf_checkpoint] {}: expected a data file below {}, got {}. The file is damaged.", where, files,
                  entry.file);
  for (const BundleSlice& slice : entry.slices)
    BELFRY_CHECK_AS(FileError, slice.size() == entry.dims.size(),
                    "[tf_checkpoint] {}: expected slices with the tensor's {} axes, got one with {}. The file is "
                    "damaged.",
                    where, entry.dims.size(), slice.size());
}

// Numbers of keys keep their order as bytes. Not negative: how many bytes, then these, the highest first.
void add_ordered(std::string& to, std::uint64_t value) {
  std::string bytes;
  for (; value > 0; value >>= 8) bytes.insert(bytes.begin(), static_cast<char>(value));
  to += static_cast<char>(bytes.size());
  to += bytes;
}

// Any sign: n bytes begin with n bits 1 and a bit 0, and have 7 n - 1 bits for the value in two's complement, with
// sign; a negative number has all of its bits the other way round.
void add_ordered_signed(std::string& to, std::int64_t value) {
  const std::uint64_t magnitude = static_cast<std::uint64_t>(value < 0 ? ~value : value);
  int length = 1;
  while (length < 10 && magnitude >> (7 * length - 1) != 0) ++length;
  std::string bytes(static_cast<std::size_t>(length), '\0');
  std::uint64_t left = magnitude;
  for (int i = length - 1; i >= 0; --i, left >>= 8) bytes[static_cast<std::size_t>(i)] = static_cast<char>(left);
  for (int bit = 0; bit < length; ++bit) bytes[static_cast<std::size_t>(bit / 8)] |= static_cast<char>(0x80 >> bit % 8);
  if (value < 0)
    for (char& byte : bytes) byte = static_cast<char>(~byte);
  to += bytes;
}

// Ends with 0 1; a byte 0 becomes 0 ff, a byte ff becomes ff 0.
void add_ordered(std::string& to, std::string_view text) {
  for (const char c : text) {
    to += c;
    if (c == '\0') to += '\xff';
    if (c == '\xff') to += '\0';
  }
  to += '\0';
  to += '\1';
}

}  // namespace

BundleIndex read_bundle_index(const std::string& path) {
  const MappedFile file(path);
  BundleIndex out;
  bool has_header = false;
  read_sorted_table(file.bytes(), path, [&](std::string_view key, std::string_view value) {
    if (key.empty()) {
      const Header header = header_in(value, fmt::format("the header of '{}'", path));
      check_header(header, path);
      out.files = header.files;
      has_header = true;
      return;
    }
    BELFRY_CHECK_AS(FileError, has_header,
                    "[tf_checkpoint] '{}': expected an index that begins with a header, got none. The file is damaged, "
                    "or not of a checkpoint.",
                    path);
    const std::string where = fmt::format("'{}': {}", path, shown(key));
    BundleEntry entry = entry_in(value, where);
    check_entry(entry, out.files, where);
    out.entries.emplace_hint(out.entries.end(), key, std::move(entry));
  });
  BELFRY_CHECK_AS(FileError, has_header,
                  "[tf_checkpoint] '{}': expected an index that begins with a header, got an empty one. The file is "
                  "damaged.",
                  path);
  return out;
}

std::string slice_key(const std::string& name, const BundleSlice& slice) {
  std::string out;
  add_ordered(out, std::uint64_t{0});
  add_ordered(out, name);
  add_ordered(out, slice.size());
  for (const BundleExtent& extent : slice) {
    add_ordered_signed(out, extent.start);
    add_ordered_signed(out, extent.length);
  }
  return out;
}

bool is_slice_key(const std::string& key) { return key.starts_with('\0'); }

}  // namespace belfry
