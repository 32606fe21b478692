#include "tools/raster_canvas.h"

#include <algorithm>
#include <cmath>

#include "tools/bitmap_font.h"

namespace belfry::tools {
namespace {

constexpr double kDash = 5, kGap = 3.5;

CurvePoint scaled(const CurvePoint& p, double scale) { return {p.x * scale, p.y * scale}; }

double distance(CurvePoint p, CurvePoint from, CurvePoint to) {
  const double dx = to.x - from.x, dy = to.y - from.y, length = dx * dx + dy * dy;
  const double along = length == 0 ? 0 : std::clamp(((p.x - from.x) * dx + (p.y - from.y) * dy) / length, 0.0, 1.0);
  return std::hypot(p.x - from.x - along * dx, p.y - from.y - along * dy);
}

// One cell of a glyph, in the drawing's pixels: capitals are 7 cells high, 0.72 of the size.
double cell_of(const CurveCanvas::Lettering& lettering) { return lettering.size * 0.72 / 6.5; }

// Bytes of a character beyond ASCII: only the first is drawn, as a '?'.
bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// The ink of a glyph as lines between neighbouring cells: smooth at any size. A slanted line only where no corner of
// two straight ones joins the cells.
template <class Line>
void lines_of(char c, Line&& line) {
  const std::string_view glyph = glyph_of(c);
  const int width = glyph_width(c);
  const auto ink = [&](int row, int column) {
    const auto at = static_cast<std::size_t>(row * (width + 1) + column);
    return row >= 0 && column >= 0 && column < width && at < glyph.size() && glyph[at] == '#';
  };
  for (int row = 0; row < kGlyphRows; ++row)
    for (int column = 0; column < width; ++column) {
      if (!ink(row, column)) continue;
      line(row, column, row, column);
      if (ink(row, column + 1)) line(row, column, row, column + 1);
      if (ink(row + 1, column)) line(row, column, row + 1, column);
      for (const int side : {-1, 1})
        if (ink(row + 1, column + side) && !ink(row, column + side) && !ink(row + 1, column))
          line(row, column, row + 1, column + side);
    }
}

}  // namespace

RasterCanvas::RasterCanvas(CurveSize size, double scale)
    : scale_(scale),
      image_(Array::full(
          u8, {static_cast<std::int64_t>(size.height * scale), static_cast<std::int64_t>(size.width * scale), 3}, 255)),
      width_(image_.shape()[1]),
      height_(image_.shape()[0]),
      coverage_(static_cast<std::size_t>(width_ * height_), 0.f) {}

void RasterCanvas::cover(CurvePoint from, CurvePoint to, double width) {
  const double reach = width / 2 + 1;
  const auto low = [&](double a, double b) { return std::max<std::int64_t>(0, std::llround(std::min(a, b) - reach)); };
  const auto high = [&](double a, double b, std::int64_t size) {
    return std::min<std::int64_t>(size - 1, std::llround(std::max(a, b) + reach));
  };
  const std::int64_t right = high(from.x, to.x, width_), bottom = high(from.y, to.y, height_);
  for (std::int64_t y = low(from.y, to.y); y <= bottom; ++y)
    for (std::int64_t x = low(from.x, to.x); x <= right; ++x) {
      const CurvePoint centre{static_cast<double>(x) + 0.5, static_cast<double>(y) + 0.5};
      const auto ink = static_cast<float>(std::clamp(width / 2 + 0.5 - distance(centre, from, to), 0.0, 1.0));
      const auto at = static_cast<std::size_t>(y * width_ + x);
      if (ink <= coverage_[at]) continue;
      if (coverage_[at] == 0) touched_.push_back(at);
      coverage_[at] = ink;
    }
}

void RasterCanvas::cover_dashes(std::span<const CurvePoint> points, double width) {
  double place = 0;  // within a dash and the gap after it
  for (std::size_t i = 1; i < points.size(); ++i) {
    const CurvePoint from = points[i - 1], to = points[i];
    const double length = std::hypot(to.x - from.x, to.y - from.y);
    for (double done = 0; done < length;) {
      const double dash = kDash * scale_, period = (kDash + kGap) * scale_;
      const bool drawn = place < dash;
      const double step = std::min((drawn ? dash : period) - place, length - done);
      const auto at = [&](double d) {
        return CurvePoint{from.x + (to.x - from.x) * d / length, from.y + (to.y - from.y) * d / length};
      };
      if (drawn) cover(at(done), at(done + step), width);
      // A step that is too short to change the sum still ends the piece.
      done = done + step > done ? done + step : length;
      place = place + step >= (drawn ? dash : period) - 1e-9 ? (drawn ? dash : 0) : place + step;
    }
  }
}

void RasterCanvas::paint(CurveColour colour) {
  const std::uint8_t ink[] = {colour.red, colour.green, colour.blue};
  const auto pixels = image_.values<std::uint8_t>();
  for (const std::size_t at : touched_) {
    for (std::size_t k = 0; k < 3; ++k) {
      std::uint8_t& value = pixels[at * 3 + k];
      value = static_cast<std::uint8_t>(std::lround(
          static_cast<float>(value) + coverage_[at] * (static_cast<float>(ink[k]) - static_cast<float>(value))));
    }
    coverage_[at] = 0;
  }
  touched_.clear();
}

void RasterCanvas::line(std::span<const CurvePoint> points, const Stroke& stroke) {
  std::vector<CurvePoint> places;
  for (const CurvePoint& p : points) places.push_back(scaled(p, scale_));
  const double width = stroke.width * scale_;
  if (stroke.dashed) {
    cover_dashes(places, width);
  } else {
    for (std::size_t i = 1; i < places.size(); ++i) cover(places[i - 1], places[i], width);
  }
  paint(stroke.colour);
}

void RasterCanvas::dot(const CurvePoint& centre, double radius, CurveColour colour) {
  const CurvePoint at = scaled(centre, scale_);
  cover(at, at, 2 * radius * scale_);
  paint(colour);
}

void RasterCanvas::text(const CurvePoint& base, std::string_view text, const Lettering& lettering) {
  const double cell = cell_of(lettering) * scale_;
  const double before = lettering.anchor == Anchor::begin ? 0 : width_of(text, lettering) * scale_;
  double left = base.x * scale_ - (lettering.anchor == Anchor::middle ? before / 2 : before) + cell / 2;
  const double top = base.y * scale_ - kGlyphBaseline * cell - cell / 2;
  for (const char c : text) {
    if (continues(c)) continue;
    lines_of(c, [&](int row, int column, int to_row, int to_column) {
      cover({left + column * cell, top + row * cell}, {left + to_column * cell, top + to_row * cell},
            cell * (lettering.bold ? 1.5 : 1.05));
    });
    left += (glyph_width(c) + (lettering.bold ? 1.8 : 1.4)) * cell;
  }
  paint(lettering.colour);
}

double RasterCanvas::width_of(std::string_view text, const Lettering& lettering) const {
  double cells = 0;
  for (const char c : text)
    if (!continues(c)) cells += glyph_width(c) + (lettering.bold ? 1.8 : 1.4);
  return cells * cell_of(lettering);
}

}  // namespace belfry::tools
