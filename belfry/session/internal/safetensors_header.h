// The JSON header of a safetensors file, to and from text. For safetensors.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "belfry/array/dtype.h"
#include "belfry/array/shape.h"

namespace belfry {

inline constexpr std::size_t kMaxSafetensorsHeader = 100'000'000;  // the format's own limit
inline constexpr std::string_view kSafetensorsMetadata = "__metadata__";

struct SafetensorsEntry {
  DType dtype = DType::f32;
  Shape shape;
  std::uint64_t begin = 0, end = 0;  // within the data
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
