#include "belfry/dataflow/image/internal/border.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "belfry/base/check.h"
#include "belfry/dataflow/image/internal/fill.h"

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

// Pixels [begin, end) of a row of the part, one by one.
struct Columns {
  ImagePart part;
  int width;  // of the picture
  BorderMode mode;
  std::size_t pixel_bytes;
  const std::byte* outside;  // a pixel of the border's value

  void copy(const std::byte* from, std::byte* to, int begin, int end) const {
    for (int x = begin; x < end; ++x) {
      const int column = pixel_at(part.x + x, width, mode);
      const std::byte* pixel = column == kOutside ? outside : from + static_cast<std::size_t>(column) * pixel_bytes;
      std::memcpy(to + static_cast<std::size_t>(x) * pixel_bytes, pixel, pixel_bytes);
    }
  }
};

}  // namespace

void check_border(const char* where, const Border& border) {
  BELFRY_CHECK(border.mode <= BorderMode::reflect, "[{}] expected a BorderMode, got the number {}.", where,
               static_cast<int>(border.mode));
}

Array padded_part(ImageView& picture, const ImagePart& part, BorderMode mode, double value) {
  picture.settle();
  const int height = picture.height(), width = picture.width();
  const std::size_t pixel_bytes = picture.pixel_bytes(), row_bytes = pixel_bytes * static_cast<std::size_t>(part.width);
  // The columns of the part that lie in the picture.
  const int begin = std::clamp(-part.x, 0, part.width), end = std::clamp(width - part.x, begin, part.width);
  const std::size_t inside = static_cast<std::size_t>(end - begin) * pixel_bytes;
  const std::vector<std::byte> outside =
      filled_bytes(value, picture.dtype(), static_cast<std::size_t>(part.width) * picture.channels());
  const Columns columns{part, width, mode, pixel_bytes, outside.data()};
  Array made(picture.dtype(), {part.height, part.width, picture.channels()});
  auto* to = static_cast<std::byte*>(made.raw());
  for (int y = 0; y < part.height; ++y, to += row_bytes) {
    const int row = pixel_at(part.y + y, height, mode);
    if (row == kOutside) {
      std::memcpy(to, outside.data(), row_bytes);
      continue;
    }
    const std::byte* from = picture.stored_row(row);
    columns.copy(from, to, 0, begin);
    if (inside > 0)
      std::memcpy(to + static_cast<std::size_t>(begin) * pixel_bytes,
                  from + static_cast<std::size_t>(part.x + begin) * pixel_bytes, inside);
    columns.copy(from, to, end, part.width);
  }
  return made;
}

}  // namespace belfry
