#pragma once

#include <cstddef>

namespace belfry {

// Copies a row of pixels of this many bytes each, from right to left. The two must not overlap.
void reverse_row(const std::byte* from, std::byte* to, int width, std::size_t pixel_bytes);

}  // namespace belfry
