#include "belfry/dataflow/image_sheet.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/dataflow/internal/byte_image.h"
#include "belfry/dataflow/internal/glyphs.h"

namespace belfry {
namespace {

constexpr std::int64_t kTextHeight = kGlyphHeight + 3;  // with room above and below

struct Place {
  std::int64_t x = 0, y = 0;
};

std::uint8_t* pixel(Array& sheet, Place at) {
  return sheet.values<std::uint8_t>().data() + (at.y * sheet.shape()[1] + at.x) * 3;
}

// On white, each pixel `scale` times in each direction.
void draw_image(Array& sheet, Place corner, const Array& image, std::int64_t scale) {
  const Array bytes = to_bytes(image);
  const std::int64_t width = image.shape()[1], channels = image.shape()[2];
  for (std::int64_t y = 0; y < image.shape()[0] * scale; ++y) {
    const std::uint8_t* row = bytes.values<std::uint8_t>().data() + y / scale * width * channels;
    std::uint8_t* to = pixel(sheet, {corner.x, corner.y + y});
    for (std::int64_t x = 0; x < width * scale; ++x) {
      const std::uint8_t* from = row + x / scale * channels;
      for (int c = 0; c < 3; ++c) {
        const int value = from[channels == 1 ? 0 : c], opacity = channels == 4 ? from[3] : 255;
        *to++ = static_cast<std::uint8_t>((value * opacity + 255 * (255 - opacity)) / 255);
      }
    }
  }
}

// In black; what is longer than `width` is cut off.
void draw_text(Array& sheet, Place corner, std::int64_t width, const std::string& text) {
  for (std::int64_t x = 0; x < width; ++x) {
    const auto letter = static_cast<std::size_t>(x / (kGlyphWidth + 1));
    const int column = static_cast<int>(x % (kGlyphWidth + 1));
    if (letter >= text.size()) return;
    for (int y = 0; column < kGlyphWidth && y < kGlyphHeight; ++y)
      if (glyph_pixel(text[letter], column, y)) std::fill_n(pixel(sheet, {corner.x + x, corner.y + y}), 3, 0);
  }
}

}  // namespace

Array image_sheet(const std::vector<Array>& images, const ImageSheetOptions& options) {
  BELFRY_CHECK(!images.empty(), "[image_sheet] expected at least one image, got none.");
  BELFRY_CHECK(
      options.columns > 0 && options.gap >= 0 && options.scale > 0,
      "[image_sheet] expected 1 or more columns, a gap of 0 or more and a scale of 1 or more, got {}, {} and {}.",
      options.columns, options.gap, options.scale);
  BELFRY_CHECK(options.labels.empty() || options.labels.size() == images.size(),
               "[image_sheet] expected a label for each of {} images, or none, got {}.", images.size(),
               options.labels.size());
  std::int64_t height = 0, width = 0;  // of a place
  for (const Array& image : images) {
    check_picture("image_sheet", image);
    height = std::max(height, image.shape()[0] * options.scale);
    width = std::max(width, image.shape()[1] * options.scale);
  }
  const std::int64_t gap = options.gap, count = static_cast<std::int64_t>(images.size());
  const std::int64_t columns = std::min<std::int64_t>(options.columns, count), rows = (count + columns - 1) / columns;
  const std::int64_t across = width + gap, down = height + (options.labels.empty() ? 0 : kTextHeight) + gap;
  Array sheet = Array::full(u8, {rows * down + gap, columns * across + gap, 3}, 255);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Place corner{gap + i % columns * across, gap + i / columns * down};
    draw_image(sheet, corner, images[at], options.scale);
    if (!options.labels.empty()) draw_text(sheet, {corner.x, corner.y + height + 2}, width, options.labels[at]);
  }
  return sheet;
}

}  // namespace belfry
