#include "belfry/session/npz.h"

#include <array>
#include <cstring>
#include <span>
#include <string_view>

#include "belfry/array/dispatch.h"
#include "belfry/base/check.h"
#include "belfry/base/file.h"
#include "belfry/session/npy_header.h"
#include "belfry/session/stored_array.h"
#include "belfry/session/zip.h"

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

NpyHeader read_header(ZipStream& stream, const ZipEntry& entry, const std::string& where) {
  std::array<std::byte, kNpyPrefix> prefix{};
  stream.read(prefix);
  const NpyExtent extent = npy_extent(prefix, where);
  BELFRY_CHECK_AS(FileError, extent.data_begin >= kNpyPrefix && extent.data_begin <= entry.size,
                  "{}: expected a .npy header within its {} bytes, got one of {}.", where, entry.size,
                  extent.data_begin);
  std::string dict(extent.data_begin - extent.dict_begin, '\0');
  const std::size_t have = kNpyPrefix - extent.dict_begin;  // a version 1 dict begins inside the prefix
  std::memcpy(dict.data(), prefix.data() + extent.dict_begin, have);
  stream.read(std::as_writable_bytes(std::span(dict)).subspan(have));
  const NpyHeader header = parse_npy_dict(dict, where);
  const auto bytes = checked_bytes(header.dtype, header.shape);
  BELFRY_CHECK_AS(FileError, bytes.has_value() && entry.size - extent.data_begin == *bytes,
                  "{}: expected the data of {} {}, got {} bytes.", where, name_of(header.dtype),
                  to_string(header.shape), entry.size - extent.data_begin);
  return header;
}

Array read_array(const ZipEntry& entry, const std::string& where) {
  ZipStream stream(entry, where);
  const NpyHeader header = read_header(stream, entry, where);
  Array array(header.dtype, header.shape);
  stream.read(bytes_of(array));
  stream.finish();
  BELFRY_CHECK_AS(FileError, header.dtype != DType::boolean || are_booleans(bytes_of(array)),
                  "{}: expected booleans of 0 or 1, got another byte.", where);
  return header.fortran_order && header.shape.rank() > 1 ? from_fortran_order(array) : array;
}

}  // namespace

std::map<std::string, Array> read_npz(const std::string& path) {
  const MappedFile file(path);
  std::map<std::string, Array> out;
  for (const ZipEntry& entry : zip_entries(file.bytes(), path)) {
    const std::string where = fmt::format("[npz] '{}': entry {}", path, in_quotes(entry.name));
    BELFRY_CHECK_AS(FileError, entry.name.ends_with(kSuffix), "{}: expected a name that ends in .npy, got another.",
                    where);
    out.emplace(entry.name.substr(0, entry.name.size() - kSuffix.size()), read_array(entry, where));
  }
  return out;
}

void write_npz(const std::string& path, const std::map<std::string, Array>& arrays) {
  ZipWriter writer(path);
  for (const auto& [name, array] : arrays) {
    const std::span<const std::byte> body(static_cast<const std::byte*>(array.raw()), array.bytes());
    writer.add(name + std::string(kSuffix), format_npy_header(array.dtype(), array.shape()), body);
  }
  writer.commit();
}

}  // namespace belfry
