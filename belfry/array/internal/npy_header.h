// The header of a .npy file: "\x93NUMPY", version, length, then a Python dict literal with dtype, order and shape.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "belfry/array/dtype.h"
#include "belfry/array/internal/foreign_type.h"
#include "belfry/array/shape.h"

namespace belfry {

inline constexpr std::size_t kNpyPrefix = 12;  // bytes that always tell how long the header is
inline constexpr std::size_t kMaxNpyHeader = 65'536;

struct NpyHeader {
  DType dtype = DType::f32;
  std::optional<ForeignType> foreign{};  // what the file has, if that is no DType: dtype is what it is read as
  Shape shape;
  bool fortran_order = false;
  bool big_endian = false;
};

// Version 1.0, padded with spaces so that data after it start at a multiple of 64.
std::string format_npy_header(DType dtype, const Shape& shape);

// Where the dict begins and the data begin, from the file's first bytes. `where` leads error texts. Throws FileError.
struct NpyExtent {
  std::size_t dict_begin = 0, data_begin = 0;
};
NpyExtent npy_extent(std::span<const std::byte, kNpyPrefix> prefix, const std::string& where);

// Throws FileError on a dict that is malformed or asks for what Belfry does not have.
NpyHeader parse_npy_dict(std::string_view dict, const std::string& where);

}  // namespace belfry
