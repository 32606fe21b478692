// The checksums in a safetensors file's metadata. For safetensors.cc and its reader.
//
//   "belfry_checksums": "5b12c0de 0a1b2c3d 99aa00ff"
//
// CRC-32Cs: the first of the header (its 8 bytes of length and all of its text, with these 8 digits as zeros), then one
// of each tensor's data, in the order of the names' bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belfry {

inline constexpr std::string_view kChecksums = "belfry_checksums";

// Zeros to be replaced, for the header's and this many others.
std::string blank_checksums(std::size_t tensors);
// Where the digits begin in a header's text; npos if it has none.
std::size_t find_checksums(std::string_view header);
// Replaces the digits of the header's checksum (number 0) or of the tensor of that number (from 1).
void put_checksum(std::string& header, std::size_t digits, std::size_t number, std::uint32_t checksum);
// What the header's should be. `digits` is what find_checksums() says.
std::uint32_t header_checksum(std::string_view header, std::size_t digits);

// All of them, the header's first. Throws FileError; `path` is for its text.
std::vector<std::uint32_t> parse_checksums(std::string_view text, std::size_t tensors, const std::string& path);

}  // namespace belfry
