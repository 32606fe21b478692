#pragma once

#include <cstddef>

namespace belfry {

// A row of pixels of so many bytes each, from right to left. The two must not overlap.
void reverse_row(const std::byte* from, std::byte* to, int width, std::size_t pixel_bytes);

}  // namespace belfry
