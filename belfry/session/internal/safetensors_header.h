// The JSON header of a safetensors file, to and from text. For safetensors.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "belfry/array/dtype.h"
#include "belfry/array/internal/foreign_type.h"
#include "belfry/array/shape.h"

namespace belfry {

inline constexpr std::size_t kMaxSafetensorsHeader = 100'000'000;  // the format's own limit
inline constexpr std::string_view kSafetensorsMetadata = "__metadata__";
inline constexpr std::size_t kSafetensorsLength = sizeof(std::uint64_t);  // bytes of the header's length
// Bytes that are read or written at a time: their checksum is made while they are in the cache.
inline constexpr std::size_t kSafetensorsPiece = 1 << 20;

struct SafetensorsEntry {
  DType dtype = DType::f32;
  Shape shape;
  std::uint64_t begin = 0, end = 0;      // within the data
  std::optional<ForeignType> foreign{};  // what the file has, if that is no DType: dtype is what it is read as

  std::optional<std::uint64_t> bytes() const {  // in the file; nullopt if they do not fit 63 bits
    return foreign ? checked_bytes(*foreign, shape) : checked_bytes(dtype, shape);
  }
  std::string_view type_name() const { return foreign ? name_of(*foreign) : name_of(dtype); }
};

struct SafetensorsHeader {
  std::map<std::string, SafetensorsEntry> tensors;
  std::map<std::string, std::string> metadata;
};

// `path` is for error texts. Both throw FileError. What parse returns has the right form and no duplicate names;
// whether sizes and offsets agree with the file is the caller's to check.
std::string format_safetensors_header(const SafetensorsHeader& header, const std::string& path);
SafetensorsHeader parse_safetensors_header(std::string_view json, const std::string& path);

}  // namespace belfry
