// CRC-32C without the CPU's instruction, for machines that lack it and to check the other by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace belfry {

std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace belfry
