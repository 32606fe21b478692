// Decoding on behalf of somebody, whom errors name.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "belfry/dataflow/image/codecs/decode.h"

namespace belfry {

Array decode_as(const char* where, std::span<const std::byte> bytes, const DecodeOptions& options);
Array read_image_as(const char* where, const std::string& path, const DecodeOptions& options);
// Throws unless the array is u8.
std::span<const std::byte> bytes_of(const Array& bytes, const char* where);
// ".jpg" of "a/B.JPG".
std::string extension_of(const std::string& path);

}  // namespace belfry
