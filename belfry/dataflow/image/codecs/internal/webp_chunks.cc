#include "belfry/dataflow/image/codecs/internal/webp_chunks.h"

#include <algorithm>
#include <cstring>

namespace belfry {
namespace {

constexpr std::size_t kHeader = 12, kChunkHeader = 8;  // "RIFF", length, "WEBP"; name, length

std::size_t length_at(std::span<const std::byte> bytes, std::size_t at) {  // 32 bits, the lowest first
  std::size_t length = 0;
  for (std::size_t i = 0; i < 4; ++i) length |= std::to_integer<std::size_t>(bytes[at + i]) << (8 * i);
  return length;
}

bool has(std::span<const std::byte> bytes, std::size_t at, std::string_view text) {
  return std::memcmp(bytes.data() + at, text.data(), text.size()) == 0;
}

}  // namespace

bool is_webp(std::span<const std::byte> bytes) {
  return bytes.size() >= kHeader && has(bytes, 0, "RIFF") && has(bytes, 8, "WEBP");
}

bool is_cut_webp(std::span<const std::byte> bytes) {
  return is_webp(bytes) && bytes.size() < length_at(bytes, 4) + 8;  // which counts from behind itself
}

std::span<const std::byte> webp_chunk(std::span<const std::byte> bytes, std::string_view name) {
  if (!is_webp(bytes)) return {};
  bytes = bytes.subspan(kHeader);
  while (bytes.size() >= kChunkHeader) {
    const bool found = has(bytes, 0, name);
    const std::size_t length = length_at(bytes, 4);
    bytes = bytes.subspan(kChunkHeader);
    if (found) return bytes.first(std::min(length, bytes.size()));
    bytes = bytes.subspan(std::min(length + length % 2, bytes.size()));
  }
  return {};
}

}  // namespace belfry
