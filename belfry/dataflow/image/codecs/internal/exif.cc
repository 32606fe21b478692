#include "belfry/dataflow/image/codecs/internal/exif.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace belfry {
namespace {

constexpr std::size_t kEntry = 12;  // bytes: tag, type, count, value
constexpr std::uint32_t kOrientationTag = 0x112, kShort = 3;

// Numbers in the byte order that the file says. A byte after the end of the file counts as 0.
class TiffBytes {
 public:
  explicit TiffBytes(std::span<const std::byte> bytes)
      : bytes_(bytes), big_endian_(!bytes.empty() && bytes[0] == std::byte{'M'}) {}

  std::uint32_t number(std::size_t at, int size) const {
    std::uint32_t value = 0;
    for (int i = 0; i < size; ++i)
      value = value << 8 | byte(at + static_cast<std::size_t>(big_endian_ ? i : size - 1 - i));
    return value;
  }

 private:
  std::uint32_t byte(std::size_t at) const {
    return at < bytes_.size() ? std::to_integer<std::uint32_t>(bytes_[at]) : 0;
  }

  std::span<const std::byte> bytes_;
  bool big_endian_;
};

bool begins_with(std::span<const std::byte> bytes, const char* text, std::size_t size) {
  return bytes.size() >= size && std::memcmp(bytes.data(), text, size) == 0;
}

}  // namespace

// The header: byte order, 42, where the first directory is. That: how many entries, then these.
int exif_orientation(std::span<const std::byte> exif) {
  if (begins_with(exif, "Exif\0\0", 6)) exif = exif.subspan(6);
  if (!begins_with(exif, "II*\0", 4) && !begins_with(exif, "MM\0*", 4)) return 1;
  const TiffBytes tiff(exif);
  const std::size_t directory = tiff.number(4, 4);
  if (directory >= exif.size()) return 1;
  const std::size_t room = (exif.size() - directory) / kEntry,
                    entries = std::min<std::size_t>(tiff.number(directory, 2), room);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + i * kEntry;
    if (tiff.number(entry, 2) != kOrientationTag || tiff.number(entry + 2, 2) != kShort) continue;
    const auto value = static_cast<int>(tiff.number(entry + 8, 2));
    return value >= 1 && value <= 8 ? value : 1;
  }
  return 1;
}

}  // namespace belfry
