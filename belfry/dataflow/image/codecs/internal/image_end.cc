#include "belfry/dataflow/image/codecs/internal/image_end.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace belfry {
namespace {

constexpr unsigned kStuffed = 0x00, kTemporary = 0x01, kRestart0 = 0xD0, kStart = 0xD8, kEnd = 0xD9;

unsigned at(std::span<const std::byte> bytes, std::size_t i) { return std::to_integer<unsigned>(bytes[i]); }

// Moves the start of `bytes` to after the next marker (FF xx, where FF may be repeated) and returns its xx. Without
// one, `bytes` is empty afterwards.
unsigned next_marker(std::span<const std::byte>& bytes) {
  const auto is_ff = [](std::byte b) { return b == std::byte{0xFF}; };
  const auto found = std::find_if_not(std::ranges::find(bytes, std::byte{0xFF}), bytes.end(), is_ff);
  if (found == bytes.end()) {
    bytes = {};
    return kStuffed;
  }
  bytes = bytes.subspan(static_cast<std::size_t>(found - bytes.begin()) + 1);
  return std::to_integer<unsigned>(*found);
}

// A byte FF of compressed data (then 00 follows), or a marker that has no length.
bool stands_alone(unsigned marker) {
  return marker == kStuffed || marker == kTemporary || (marker >= kRestart0 && marker <= kStart);
}

template <class Text>
bool begins_with(std::span<const std::byte> bytes, const Text& text) {
  return bytes.size() >= text.size() && std::ranges::equal(bytes.first(text.size()), std::as_bytes(std::span(text)));
}

constexpr std::array<std::uint8_t, 8> kSignature{0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};

}  // namespace

bool is_jpeg(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && at(bytes, 0) == 0xFF && at(bytes, 1) == kStart;
}

bool is_png(std::span<const std::byte> bytes) { return begins_with(bytes, kSignature); }

// Segments are stepped over by their lengths, for an end marker in one is that of a thumbnail. Compressed data, which
// have no length, follow the segments that begin a scan; among them every FF is stuffed, a restart, or what ends them.
bool is_cut_jpeg(std::span<const std::byte> bytes) {
  if (!is_jpeg(bytes)) return false;
  bytes = bytes.subspan(2);
  while (!bytes.empty()) {
    const unsigned marker = next_marker(bytes);
    if (marker == kEnd) return false;
    if (stands_alone(marker)) continue;
    if (bytes.size() < 2) return true;
    const std::size_t length = std::max(at(bytes, 0) << 8 | at(bytes, 1), 2u);  // with its own two bytes
    if (bytes.size() < length) return true;
    bytes = bytes.subspan(length);
  }
  return true;
}

// A signature and chunks: length, name, as many bytes as the length says, checksum.
bool is_cut_png(std::span<const std::byte> bytes) {
  static constexpr std::array<char, 4> kEndName{'I', 'E', 'N', 'D'};
  if (!is_png(bytes)) return false;
  bytes = bytes.subspan(kSignature.size());
  while (bytes.size() >= 8) {
    if (begins_with(bytes.subspan(4), kEndName)) return bytes.size() < 12;
    const std::size_t length = std::size_t{at(bytes, 0)} << 24 | at(bytes, 1) << 16 | at(bytes, 2) << 8 | at(bytes, 3);
    if (bytes.size() < length + 12) return true;
    bytes = bytes.subspan(length + 12);
  }
  return true;
}

}  // namespace belfry
