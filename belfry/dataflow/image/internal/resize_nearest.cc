#include <algorithm>
#include <cstring>
#include <vector>

#include "belfry/dataflow/image/internal/resize_pixels.h"
#include "belfry/dataflow/image/internal/take_pixels.h"

namespace belfry {
namespace {

// Where pixel i of `to` is taken from: (i + 1/2) * from / to, in OpenCV's fixed point while that has enough bits.
std::vector<int> places(int from, int to) {
  constexpr int bits = 16, most = 1 << 15;
  const bool exact = from >= most || to >= most;
  const std::int64_t step = ((std::int64_t{from} << bits) + to / 2) / to;
  std::vector<int> at(static_cast<std::size_t>(to));
  for (int i = 0; i < to; ++i) {
    const std::int64_t place =
        exact ? ((2 * std::int64_t{i} + 1) * from - 1) / (2 * std::int64_t{to}) : (step * i + step / 2 - 1) >> bits;
    at[static_cast<std::size_t>(i)] = static_cast<int>(std::clamp<std::int64_t>(place, 0, from - 1));
  }
  return at;
}

}  // namespace

Array resize_nearest(ImageView& picture, int height, int width) {
  picture.settle();
  const std::vector<int> rows = places(picture.height(), height), columns = places(picture.width(), width);
  const TakePixels take = take_pixels_of(picture.pixel_bytes());
  const std::size_t row_bytes = picture.pixel_bytes() * columns.size();
  Array made(picture.dtype(), {height, width, picture.channels()});
  auto* to = static_cast<std::byte*>(made.raw());
  int last = -1;
  for (const int row : rows) {
    if (row == last)
      std::memcpy(to, to - row_bytes, row_bytes);
    else
      take(picture.stored_row(row), to, columns);
    last = row;
    to += row_bytes;
  }
  return made;
}

}  // namespace belfry
