#include "belfry/callbacks/monitors/curves.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "belfry/callbacks/monitors/curve_canvas.h"

namespace belfry {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  return out;
}

std::string hex(CurveColour c) { return fmt::format("#{:02x}{:02x}{:02x}", c.red, c.green, c.blue); }

class SvgCanvas final : public CurveCanvas {
 public:
  void line(std::span<const CurvePoint> points, const Stroke& stroke) override {
    auto to = std::back_inserter(body_);
    fmt::format_to(to, "<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"{:g}\"{} points=\"", hex(stroke.colour),
                   stroke.width, stroke.dashed ? " stroke-dasharray=\"5 3\"" : "");
    for (const CurvePoint& p : points) fmt::format_to(to, "{}{:.1f},{:.1f}", &p == points.data() ? "" : " ", p.x, p.y);
    body_ += "\"/>\n";
  }

  void dot(const CurvePoint& centre, double radius, CurveColour colour) override {
    fmt::format_to(std::back_inserter(body_), "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:g}\" fill=\"{}\"/>\n",
                   centre.x, centre.y, radius, hex(colour));
  }

  void text(const CurvePoint& base, std::string_view text, const Lettering& lettering) override {
    constexpr const char* kAnchors[] = {"start", "middle", "end"};
    fmt::format_to(std::back_inserter(body_),
                   "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:g}\" text-anchor=\"{}\" fill=\"{}\"{}>{}</text>\n",
                   base.x, base.y, lettering.size, kAnchors[static_cast<int>(lettering.anchor)], hex(lettering.colour),
                   lettering.bold ? " font-weight=\"bold\"" : "", escaped(text));
  }

  // The viewer chooses the font: about the width of common ones.
  double width_of(std::string_view text, const Lettering& lettering) const override {
    return static_cast<double>(text.size()) * lettering.size * (lettering.bold ? 0.62 : 0.57);
  }

  std::string file(CurveSize size) const {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" height=\"{1:g}\" viewBox=\"0 0 {0:g} {1:g}\" "
        "font-family=\"Helvetica, Arial, sans-serif\" stroke-linejoin=\"round\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{2}</svg>\n",
        size.width, size.height, body_);
  }

 private:
  std::string body_;
};

}  // namespace

std::string curves_svg(const std::vector<CurvePanel>& panels, const CurveOptions& options) {
  SvgCanvas canvas;
  const CurveSize size = size_of_curves(panels, options);
  draw_curves(panels, options, canvas);
  return canvas.file(size);
}

std::vector<CurvePoint> smoothed(const std::vector<CurvePoint>& points, double smoothing) {
  std::vector<CurvePoint> out = points;
  double sum = 0, weight = 0;
  for (CurvePoint& point : out) {
    if (!std::isfinite(point.y)) continue;
    sum = smoothing * sum + point.y;
    weight = smoothing * weight + 1;
    point.y = sum / weight;
  }
  return out;
}

}  // namespace belfry
