// CRC-32C (Castagnoli), the checksum of TFRecord files and of our own records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#pragma GCC visibility push(default)
namespace belfry {

// Of the bytes, or of bytes that continue others whose checksum is `before`.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace belfry
#pragma GCC visibility pop
