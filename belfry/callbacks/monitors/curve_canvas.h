// How curves are drawn, and what on: curves_svg() is one canvas; a program may have others.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/callbacks/monitors/curves.h"

#pragma GCC visibility push(default)
namespace belfry {

struct CurveColour {
  std::uint8_t red = 0, green = 0, blue = 0;
};

// Lengths are in pixels, from the upper left corner.
class CurveCanvas {
 public:
  enum class Anchor : std::uint8_t { begin, middle, end };
  struct Stroke {
    CurveColour colour{};
    double width = 1;
    bool dashed = false;
  };
  struct Lettering {
    double size = 11;  // a line's height is about 1.2 times this
    Anchor anchor = Anchor::begin;
    CurveColour colour{};
    bool bold = false;
  };

  virtual ~CurveCanvas() = default;
  virtual void line(std::span<const CurvePoint> points, const Stroke& stroke) = 0;
  virtual void dot(const CurvePoint& centre, double radius, CurveColour colour) = 0;
  virtual void text(const CurvePoint& base, std::string_view text, const Lettering& lettering) = 0;
  virtual double width_of(std::string_view text, const Lettering& lettering) const = 0;
};

struct CurveSize {
  double width = 0, height = 0;
};

// Of the whole picture. Throws as curves_svg() does.
CurveSize size_of_curves(const std::vector<CurvePanel>& panels, const CurveOptions& options);
// On a white canvas of that size.
void draw_curves(const std::vector<CurvePanel>& panels, const CurveOptions& options, CurveCanvas& canvas);

// The colours of series, one after the other and again from the first.
CurveColour curve_colour(int index);

}  // namespace belfry
#pragma GCC visibility pop
