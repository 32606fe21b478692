#include "belfry/dataflow/image/codecs/internal/turn.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "belfry/base/check.h"

namespace belfry {
namespace {

// Bytes from a pixel to the one below and to the one at its right.
struct Steps {
  std::ptrdiff_t down = 0, right = 0;
};

constexpr std::ptrdiff_t kTile = 32;  // both sides of a tile stay in the nearest cache

// to[y][x] = from[y * steps.down + x * steps.right]
template <std::size_t channels>
void copy_tiles(const std::uint8_t* from, Steps steps, std::uint8_t* to, std::ptrdiff_t height, std::ptrdiff_t width) {
  for (std::ptrdiff_t top = 0; top < height; top += kTile)
    for (std::ptrdiff_t left = 0; left < width; left += kTile)
      for (std::ptrdiff_t y = top; y < std::min(top + kTile, height); ++y) {
        const std::uint8_t* pixel = from + y * steps.down + left * steps.right;
        std::uint8_t* out = to + (y * width + left) * static_cast<std::ptrdiff_t>(channels);
        const std::ptrdiff_t count = std::min(kTile, width - left);
        for (std::ptrdiff_t x = 0; x < count; ++x, pixel += steps.right, out += channels)
          std::memcpy(out, pixel, channels);
      }
}

}  // namespace

// 2 is the mirror image, 3 stands on its head, 4 is the mirror image of 3; 5 to 8 have rows for columns: 5 the first
// row at the left from top to bottom, 6 at the right, 7 at the right from bottom to top, 8 at the left.
Array turned_upright(const Array& image, int orientation) {
  if (orientation == 1) return image;
  const std::ptrdiff_t height = image.shape()[0], width = image.shape()[1], channels = image.shape()[2];
  BELFRY_BUG_IF(channels != 1 && channels != 3, "an image of {} channels is to be turned", channels);
  const bool rows_are_columns = orientation >= 5;
  const bool from_the_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_the_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;

  // In the stored image.
  std::ptrdiff_t next_row = width * channels, next_column = channels;
  const auto* corner = image.values<std::uint8_t>().data();
  if (from_the_bottom) {
    corner += (height - 1) * next_row;
    next_row = -next_row;
  }
  if (from_the_right) {
    corner += (width - 1) * next_column;
    next_column = -next_column;
  }

  Array upright(u8, rows_are_columns ? Shape{width, height, channels} : Shape{height, width, channels});
  const Steps steps = rows_are_columns ? Steps{next_column, next_row} : Steps{next_row, next_column};
  const auto copy = channels == 1 ? copy_tiles<1> : copy_tiles<3>;
  copy(corner, steps, upright.values<std::uint8_t>().data(), upright.shape()[0], upright.shape()[1]);
  return upright;
}

}  // namespace belfry
