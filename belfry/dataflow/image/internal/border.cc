#include "belfry/dataflow/image/internal/border.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "belfry/base/check.h"
#include "belfry/dataflow/image/internal/fill.h"
#include "belfry/dataflow/image/internal/take_pixels.h"

namespace belfry {
namespace {

constexpr int kOutside = -1;

// Which of `length` pixels stands at place i of a line without ends.
int pixel_at(int i, int length, BorderMode mode) {
  if (i >= 0 && i < length) return i;
  if (mode == BorderMode::constant) return kOutside;
  if (mode == BorderMode::replicate) return i < 0 ? 0 : length - 1;
  if (length == 1) return 0;
  const int period = 2 * (length - 1), place = (i % period + period) % period;
  return place < length ? place : period - place;
}

// Of places [begin, end) of a row that starts at column `first`, the pixels to take. None of a constant.
std::vector<int> columns_of(int first, int begin, int end, int width, BorderMode mode) {
  std::vector<int> columns;
  if (mode == BorderMode::constant) return columns;
  for (int x = begin; x < end; ++x) columns.push_back(pixel_at(first + x, width, mode));
  return columns;
}

}  // namespace

void check_border(const char* where, const Border& border) {
  BELFRY_CHECK(border.mode <= BorderMode::reflect, "[{}] expected a BorderMode, got the number {}.", where,
               static_cast<int>(border.mode));
}

Array padded_part(ImageView& picture, const ImagePart& part, BorderMode mode, double value) {
  picture.settle();
  const int width = picture.width();
  // The columns of the part that lie in the picture.
  const int begin = std::clamp(-part.x, 0, part.width), end = std::clamp(width - part.x, begin, part.width);
  const std::vector<int> left = columns_of(part.x, 0, begin, width, mode);
  const std::vector<int> right = columns_of(part.x, end, part.width, width, mode);
  const auto bytes = [&](int pixels) { return picture.pixel_bytes() * static_cast<std::size_t>(pixels); };
  const std::size_t before = bytes(begin), inside = bytes(end - begin), after = bytes(part.width - end);
  const bool constant = mode == BorderMode::constant;
  const std::vector<std::byte> outside =
      constant ? filled_bytes(value, picture.dtype(), static_cast<std::size_t>(part.width * picture.channels()))
               : std::vector<std::byte>();
  const TakePixels take = take_pixels_of(picture.pixel_bytes());
  Array made(picture.dtype(), {part.height, part.width, picture.channels()});
  auto* to = static_cast<std::byte*>(made.raw());
  for (int y = 0; y < part.height; ++y, to += bytes(part.width)) {
    const int row = pixel_at(part.y + y, picture.height(), mode);
    if (row == kOutside) {
      std::memcpy(to, outside.data(), outside.size());
      continue;
    }
    const std::byte* from = picture.stored_row(row);
    if (inside > 0) std::memcpy(to + before, from + bytes(part.x + begin), inside);
    if (constant) {
      std::memcpy(to, outside.data(), before);
      std::memcpy(to + before + inside, outside.data(), after);
    } else {
      take(from, to, left);
      take(from, to + before + inside, right);
    }
  }
  return made;
}

}  // namespace belfry
