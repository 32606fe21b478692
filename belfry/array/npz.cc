#include "belfry/array/npz.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <span>
#include <string_view>

#include "belfry/array/internal/dispatch.h"
#include "belfry/array/internal/npy_header.h"
#include "belfry/array/internal/stored_array.h"
#include "belfry/array/internal/zip.h"
#include "belfry/base/check.h"
#include "belfry/base/file.h"

namespace belfry {
namespace {

constexpr std::string_view kSuffix = ".npy";

std::span<std::byte> bytes_of(Array& array) { return {static_cast<std::byte*>(array.raw()), array.bytes()}; }

// Elements in Fortran order: the first index runs fastest, so element (i0, i1, ...) is at i0 + d0 * (i1 + d1 * ...).
Array from_fortran_order(const Array& in) {
  const Shape& shape = in.shape();
  Array out(in.dtype(), shape);
  std::array<std::int64_t, kMaxRank> index{}, stride{};
  std::int64_t step = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    stride[static_cast<std::size_t>(axis)] = step;
    step *= shape[axis];
  }
  dispatch(in.dtype(), [&]<class T>() {
    const std::span<const T> from = in.values<T>();
    std::int64_t at = 0;
    for (T& value : out.values<T>()) {
      value = from[static_cast<std::size_t>(at)];
      // To the next element of C order: the last index runs fastest and carries into the one before.
      for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        const auto a = static_cast<std::size_t>(axis);
        at += stride[a];
        if (++index[a] < shape[axis]) break;
        at -= stride[a] * shape[axis];
        index[a] = 0;
      }
    }
  });
  return out;
}

void swap_bytes(std::span<std::byte> bytes, std::size_t size) {
  for (std::size_t at = 0; at < bytes.size(); at += size) std::ranges::reverse(bytes.subspan(at, size));
}

// Reads a .npy file from memory, with the interface of an entry in an archive.
class PlainStream {
 public:
  PlainStream(std::span<const std::byte> bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  void read(std::span<std::byte> to) {
    BELFRY_CHECK_AS(FileError, to.size() <= bytes_.size(), "{}: expected {} more bytes, got {}.", where_, to.size(),
                    bytes_.size());
    std::ranges::copy(bytes_.first(to.size()), to.begin());
    bytes_ = bytes_.subspan(to.size());
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& where_;
};

// The header of a .npy file of `size` bytes; checks that its data fill the rest exactly.
template <class Stream>
NpyHeader read_header(Stream& stream, std::uint64_t size, const std::string& where) {
  std::array<std::byte, kNpyPrefix> prefix{};
  stream.read(prefix);
  const NpyExtent extent = npy_extent(prefix, where);
  BELFRY_CHECK_AS(FileError, extent.data_begin >= kNpyPrefix && extent.data_begin <= size,
                  "{}: expected a .npy header within its {} bytes, got one of {}.", where, size, extent.data_begin);
  std::string dict(extent.data_begin - extent.dict_begin, '\0');
  const std::size_t have = kNpyPrefix - extent.dict_begin;  // a version 1 dict begins inside the prefix
  std::memcpy(dict.data(), prefix.data() + extent.dict_begin, have);
  stream.read(std::as_writable_bytes(std::span(dict)).subspan(have));
  const NpyHeader header = parse_npy_dict(dict, where);
  const auto bytes =
      header.foreign ? checked_bytes(*header.foreign, header.shape) : checked_bytes(header.dtype, header.shape);
  BELFRY_CHECK_AS(FileError, bytes.has_value() && size - extent.data_begin == *bytes,
                  "{}: expected the data of {} {}, got {} bytes.", where,
                  header.foreign ? name_of(*header.foreign) : name_of(header.dtype), to_string(header.shape),
                  size - extent.data_begin);
  return header;
}

// In the order of the file.
template <class Stream>
Array read_elements(Stream& stream, const NpyHeader& header, const std::string& where) {
  if (!header.foreign) {
    Array array(header.dtype, header.shape);
    stream.read(bytes_of(array));
    if (header.big_endian) swap_bytes(bytes_of(array), size_of(header.dtype));
    return array;
  }
  std::vector<std::byte> bytes(*checked_bytes(*header.foreign, header.shape));
  stream.read(bytes);
  if (header.big_endian) swap_bytes(bytes, size_of(*header.foreign));
  return widened(*header.foreign, header.shape, bytes, where);
}

template <class Stream>
Array read_array(Stream& stream, std::uint64_t size, const std::string& where) {
  const NpyHeader header = read_header(stream, size, where);
  Array array = read_elements(stream, header, where);
  BELFRY_CHECK_AS(FileError, header.dtype != DType::boolean || are_booleans(bytes_of(array)),
                  "{}: expected booleans of 0 or 1, got another byte.", where);
  return header.fortran_order && header.shape.rank() > 1 ? from_fortran_order(array) : array;
}

std::string array_name(const ZipEntry& entry, const std::string& where) {
  BELFRY_CHECK_AS(FileError, entry.name.ends_with(kSuffix), "{}: expected a name that ends in .npy, got another.",
                  where);
  return entry.name.substr(0, entry.name.size() - kSuffix.size());
}

// The arrays that are wanted, or all; `seen` gets the names of all.
template <class Wanted>
std::map<std::string, Array> read_arrays(const std::string& path, std::set<std::string>& seen, Wanted&& is_wanted) {
  const MappedFile file(path);
  std::map<std::string, Array> out;
  for (const ZipEntry& entry : zip_entries(file.bytes(), path)) {
    const std::string where = fmt::format("[npz] '{}': entry {}", path, in_quotes(entry.name));
    const std::string name = array_name(entry, where);
    seen.insert(name);
    if (!is_wanted(name)) continue;
    ZipStream stream(entry, where);
    out.emplace(name, read_array(stream, entry.size, where));
    stream.finish();
  }
  return out;
}

std::span<const std::byte> content_of(const Array& array) {
  return {static_cast<const std::byte*>(array.raw()), array.bytes()};
}

}  // namespace

Array read_npy(const std::string& path) {
  const MappedFile file(path);
  const std::string where = fmt::format("[npy] '{}'", path);
  PlainStream stream(file.bytes(), where);
  return read_array(stream, file.bytes().size(), where);
}

std::map<std::string, Array> read_npz(const std::string& path) {
  std::set<std::string> seen;
  return read_arrays(path, seen, [](const std::string&) { return true; });
}

std::map<std::string, Array> read_npz(const std::string& path, const std::vector<std::string>& names) {
  std::set<std::string> seen;
  auto out = read_arrays(path, seen, [&](const std::string& name) { return std::ranges::count(names, name) > 0; });
  constexpr std::ptrdiff_t kShown = 20;
  const std::vector<std::string> shown(seen.begin(),
                                       std::next(seen.begin(), std::min<std::ptrdiff_t>(std::ssize(seen), kShown)));
  for (const std::string& name : names)
    BELFRY_CHECK_AS(FileError, out.contains(name), "[npz] '{}': expected an array {}, got only {}{}.", path,
                    in_quotes(name), fmt::join(shown, ", "), shown.size() < seen.size() ? ", ..." : "");
  return out;
}

void write_npy(const std::string& path, const Array& array) {
  AtomicFile file(path);
  file.write(format_npy_header(array.dtype(), array.shape()));
  file.write(content_of(array));
  file.commit();
}

void write_npz(const std::string& path, const std::map<std::string, Array>& arrays, NpzOptions options) {
  ZipWriter writer(path, options.deflate);
  for (const auto& [name, array] : arrays)
    writer.add(name + std::string(kSuffix), format_npy_header(array.dtype(), array.shape()), content_of(array));
  writer.commit();
}

}  // namespace belfry
