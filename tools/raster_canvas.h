// A picture of pixels to draw curves on.
#pragma once

#include <vector>

#include "belfry/array/array.h"
#include "belfry/callbacks/monitors/curve_canvas.h"

namespace belfry::tools {

class RasterCanvas final : public CurveCanvas {
 public:
  // White. `scale`: pixels of the picture for one of the drawing's.
  RasterCanvas(CurveSize size, double scale);

  void line(std::span<const CurvePoint> points, const Stroke& stroke) override;
  void dot(const CurvePoint& centre, double radius, CurveColour colour) override;
  void text(const CurvePoint& base, std::string_view text, const Lettering& lettering) override;
  double width_of(std::string_view text, const Lettering& lettering) const override;

  const Array& image() const { return image_; }  // u8 [height, width, 3]

 private:
  // What follows is in the picture's own pixels. Covers a line of round ends.
  void cover(CurvePoint from, CurvePoint to, double width);
  void cover_dashes(std::span<const CurvePoint> points, double width);
  void paint(CurveColour colour);  // what was covered, each pixel once

  double scale_;
  Array image_;
  std::int64_t width_ = 0, height_ = 0;
  std::vector<float> coverage_;         // of each pixel, by what is being drawn
  std::vector<std::size_t> touched_{};  // the pixels whose coverage is not 0
};

}  // namespace belfry::tools
