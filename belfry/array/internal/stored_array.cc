#include "belfry/array/internal/stored_array.h"

#include <fmt/core.h>

#include <algorithm>

namespace belfry {

bool are_booleans(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b <= std::byte{1}; });
}

}  // namespace belfry
