#pragma once

#include <cstddef>
#include <vector>

namespace belfry {

// Copies the pixels of a row that stand at the columns, in their order.
using TakePixels = void (*)(const std::byte* row, std::byte* to, const std::vector<int>& columns);

TakePixels take_pixels_of(std::size_t pixel_bytes);

}  // namespace belfry
