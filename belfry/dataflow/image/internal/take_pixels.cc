#include "belfry/dataflow/image/internal/take_pixels.h"

#include <cstring>

#include "belfry/base/check.h"

namespace belfry {
namespace {

template <int size>
void take(const std::byte* row, std::byte* to, const std::vector<int>& columns) {
  for (const int x : columns) {
    std::memcpy(to, row + static_cast<std::size_t>(x) * size, size);
    to += size;
  }
}

}  // namespace

TakePixels take_pixels_of(std::size_t pixel_bytes) {
  switch (pixel_bytes) {
    case 1: return take<1>;
    case 2: return take<2>;
    case 3: return take<3>;
    case 4: return take<4>;
    case 8: return take<8>;
    case 12: return take<12>;
    default: BELFRY_BUG_IF(pixel_bytes != 16, "a pixel of {} bytes", pixel_bytes); return take<16>;
  }
}

}  // namespace belfry
