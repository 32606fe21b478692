// The checksum of TensorFlow's files: TFRecords and checkpoints.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "belfry/base/internal/crc32c.h"

namespace belfry {

// CRC-32C, rotated and offset, so that checksums of data that contain checksums are still useful.
inline std::uint32_t masked_crc32c(std::span<const std::byte> bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xa282ead8u;
}

}  // namespace belfry
