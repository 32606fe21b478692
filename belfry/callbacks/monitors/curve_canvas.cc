#include "belfry/callbacks/monitors/curve_canvas.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "belfry/base/check.h"
#include "belfry/base/internal/axis.h"

namespace belfry {
namespace {

using Canvas = CurveCanvas;
using Anchor = CurveCanvas::Anchor;

constexpr CurveColour kBlack{34, 34, 34}, kGrey{110, 110, 110}, kFrame{150, 150, 150}, kGrid{228, 228, 228};
constexpr double kMargin = 14, kTitleHeight = 30, kLegendLine = 16;
constexpr double kLeft = 58, kRight = 14, kAbove = 30, kBelow = 38;  // around the lines of a panel
constexpr std::size_t kFewPoints = 30;                               // which are drawn as dots too

struct Frame {
  double left = 0, top = 0, right = 0, bottom = 0;
  CurvePoint at(double x, double y) const { return {left + x * (right - left), bottom - y * (bottom - top)}; }
};

CurveColour lighter(CurveColour c) {
  const auto mix = [](std::uint8_t v) { return static_cast<std::uint8_t>(255 - (255 - v) * 3 / 10); };
  return {mix(c.red), mix(c.green), mix(c.blue)};
}

int columns_of(std::size_t panels, const CurveOptions& options) {
  if (options.columns > 0) return std::min(options.columns, static_cast<int>(panels));
  return panels == 1 ? 1 : panels <= 4 ? 2 : 3;
}

void check(const std::vector<CurvePanel>& panels, const CurveOptions& options) {
  BELFRY_CHECK(!panels.empty(), "[curves] expected something to draw, got no panel.");
  for (const CurvePanel& panel : panels)
    for (const Series& series : panel.series)
      BELFRY_CHECK(std::ranges::all_of(series.points, [](const CurvePoint& p) { return std::isfinite(p.x); }),
                   "[curves] expected finite x values, got another in '{}' of panel '{}'.", series.name, panel.title);
  BELFRY_CHECK(options.smoothing >= 0 && options.smoothing < 1,
               "[curves] expected a smoothing from 0 to below 1, got {}.", options.smoothing);
  BELFRY_CHECK(options.columns >= 0, "[curves] expected 0 columns or more, got {}.", options.columns);
  BELFRY_CHECK(options.panel_width >= 160 && options.panel_height >= 120 && options.panel_width <= 10'000 &&
                   options.panel_height <= 10'000,
               "[curves] expected panels of 160 x 120 to 10000 x 10000 pixels, got {} x {}.", options.panel_width,
               options.panel_height);
}

// Of each pixel column the first, the least, the greatest and the last point: what a line through all of them shows.
// `points` are places in pixels.
std::vector<CurvePoint> thinned(const std::vector<CurvePoint>& points) {
  std::vector<CurvePoint> out;
  for (std::size_t begin = 0; begin < points.size();) {
    std::size_t end = begin;
    while (end < points.size() && std::floor(points[end].x) == std::floor(points[begin].x)) ++end;
    const auto column = std::span(points).subspan(begin, end - begin);
    if (column.size() <= 4) {
      out.insert(out.end(), column.begin(), column.end());
    } else {
      const auto [low, high] = std::ranges::minmax_element(column, {}, &CurvePoint::y);
      out.insert(out.end(), {column.front(), *std::min(low, high), *std::max(low, high), column.back()});
    }
    begin = end;
  }
  return out;
}

class Panel {
 public:
  Panel(const CurvePanel& panel, const CurveOptions& options, Canvas& canvas)
      : panel_(panel), options_(options), canvas_(canvas) {}

  void draw(double left, double top) {
    const double right = left + options_.panel_width;
    const double legend = draw_legend(left + kLeft, top + kAbove, right - kRight);
    frame_ = {left + kLeft, top + kAbove + legend, right - kRight, top + options_.panel_height - kBelow};
    find_axes();
    canvas_.text({left + kLeft, top + 18}, title(), {.size = 13, .colour = kBlack, .bold = true});
    draw_axes();
    for (std::size_t i = 0; i < panel_.series.size(); ++i) draw_series(panel_.series[i], colour_of(i));
  }

 private:
  CurveColour colour_of(std::size_t i) const {
    return curve_colour(panel_.series[i].colour >= 0 ? panel_.series[i].colour : static_cast<int>(i));
  }

  std::string title() const {
    std::string out = panel_.title;
    if (missing_ > 0) out += fmt::format(" ({} not finite)", missing_);
    if (options_.logarithmic && !y_.logarithmic) out += " (linear: not all above 0)";
    return out;
  }

  // Its height. A single series is named by the title.
  double draw_legend(double left, double top, double right) {
    if (panel_.series.size() < 2) return 0;
    double x = left, y = top + 4;
    for (std::size_t i = 0; i < panel_.series.size(); ++i) {
      const Canvas::Lettering letters{.size = 11, .colour = kBlack};
      const std::string& name = panel_.series[i].name;
      const double width = 24 + canvas_.width_of(name, letters) + 14;
      if (x > left && x + width > right) {
        x = left;
        y += kLegendLine;
      }
      const CurvePoint sample[] = {{x, y - 4}, {x + 18, y - 4}};
      canvas_.line(sample, {.colour = colour_of(i), .width = 2, .dashed = panel_.series[i].dashed});
      canvas_.text({x + 24, y}, name, letters);
      x += width;
    }
    return y - top + 8;
  }

  void find_axes() {
    constexpr double kMost = std::numeric_limits<double>::max();
    double x_low = kMost, x_high = -kMost, y_low = kMost, y_high = -kMost;
    bool whole = true;
    for (const Series& series : panel_.series)
      for (const CurvePoint& p : series.points) {
        x_low = std::min(x_low, p.x);
        x_high = std::max(x_high, p.x);
        whole = whole && p.x == std::floor(p.x);
        if (!std::isfinite(p.y)) {
          ++missing_;
          continue;
        }
        y_low = std::min(y_low, p.y);
        y_high = std::max(y_high, p.y);
      }
    if (x_low > x_high) x_low = 0, x_high = 1;
    if (y_low > y_high) y_low = 0, y_high = 1;
    const int across = std::max(2, static_cast<int>((frame_.right - frame_.left) / 55));
    const int up = std::max(2, static_cast<int>((frame_.bottom - frame_.top) / 34));
    x_ = make_axis(x_low, x_high, {.most_ticks = across, .whole = whole, .margin = 0.02});
    y_ = make_axis(y_low, y_high, {.most_ticks = up, .logarithmic = options_.logarithmic && y_low > 0});
  }

  void draw_axes() {
    const Canvas::Stroke grid{.colour = kGrid, .width = 1};
    for (const double tick : x_.ticks) {
      const double x = x_.place(tick);
      const CurvePoint mark[] = {frame_.at(x, 0), frame_.at(x, 1)};
      canvas_.line(mark, grid);
      canvas_.text({mark[0].x, frame_.bottom + 15}, x_.text_of(tick),
                   {.size = 11, .anchor = Anchor::middle, .colour = kGrey});
    }
    for (const double tick : y_.ticks) {
      const double y = y_.place(tick);
      const CurvePoint mark[] = {frame_.at(0, y), frame_.at(1, y)};
      canvas_.line(mark, grid);
      canvas_.text({frame_.left - 6, mark[0].y + 4}, y_.text_of(tick),
                   {.size = 11, .anchor = Anchor::end, .colour = kGrey});
    }
    const CurvePoint border[] = {frame_.at(0, 0), frame_.at(1, 0), frame_.at(1, 1), frame_.at(0, 1), frame_.at(0, 0)};
    canvas_.line(border, {.colour = kFrame, .width = 1});
    canvas_.text({(frame_.left + frame_.right) / 2, frame_.bottom + 30}, options_.x_label,
                 {.size = 11, .anchor = Anchor::middle, .colour = kGrey});
  }

  void draw_series(const Series& series, CurveColour colour) {
    if (options_.smoothing > 0) {
      draw_line(series.points, {.colour = lighter(colour), .width = 1});
      return draw_line(smoothed(series.points, options_.smoothing),
                       {.colour = colour, .width = 1.8, .dashed = series.dashed});
    }
    draw_line(series.points, {.colour = colour, .width = 1.8, .dashed = series.dashed});
    if (series.points.size() > kFewPoints) return;
    for (const CurvePoint& p : series.points)
      if (std::isfinite(p.y)) canvas_.dot(frame_.at(x_.place(p.x), y_.place(p.y)), 2.4, colour);
  }

  // Interrupted where a value is not finite. A piece of one point is a dot.
  void draw_line(const std::vector<CurvePoint>& points, const Canvas::Stroke& stroke) {
    std::vector<CurvePoint> piece;
    const auto end_piece = [&] {
      piece = thinned(piece);
      if (piece.size() == 1) canvas_.dot(piece[0], 2.4, stroke.colour);
      if (piece.size() > 1) canvas_.line(piece, stroke);
      piece.clear();
    };
    for (const CurvePoint& p : points) {
      if (std::isfinite(p.y)) {
        piece.push_back(frame_.at(x_.place(p.x), y_.place(p.y)));
        continue;
      }
      end_piece();
      draw_cross(frame_.at(x_.place(p.x), 1), stroke.colour);
    }
    end_piece();
  }

  void draw_cross(CurvePoint at, CurveColour colour) {
    const CurvePoint falling[] = {{at.x - 4, at.y - 4}, {at.x + 4, at.y + 4}};
    const CurvePoint rising[] = {{at.x - 4, at.y + 4}, {at.x + 4, at.y - 4}};
    canvas_.line(falling, {.colour = colour, .width = 1.6});
    canvas_.line(rising, {.colour = colour, .width = 1.6});
  }

  const CurvePanel& panel_;
  const CurveOptions& options_;
  Canvas& canvas_;
  Frame frame_{};
  Axis x_{}, y_{};
  std::int64_t missing_ = 0;
};

}  // namespace

CurveColour curve_colour(int index) {
  // Told apart by most people who see colours differently, and on white.
  constexpr CurveColour kPalette[] = {{31, 103, 178}, {217, 95, 2},   {27, 148, 98},  {196, 50, 92},
                                      {110, 84, 180}, {140, 100, 30}, {60, 170, 200}, {90, 90, 90}};
  return kPalette[static_cast<std::size_t>(index) % std::size(kPalette)];
}

CurveSize size_of_curves(const std::vector<CurvePanel>& panels, const CurveOptions& options) {
  check(panels, options);
  const int columns = columns_of(panels.size(), options);
  const auto rows = (panels.size() + static_cast<std::size_t>(columns) - 1) / static_cast<std::size_t>(columns);
  return {columns * (options.panel_width + kMargin) + kMargin,
          static_cast<double>(rows) * (options.panel_height + kMargin) + kMargin +
              (options.title.empty() ? 0 : kTitleHeight)};
}

void draw_curves(const std::vector<CurvePanel>& panels, const CurveOptions& options, CurveCanvas& canvas) {
  check(panels, options);
  double top = kMargin;
  if (!options.title.empty()) {
    canvas.text({kMargin + 6, top + 18}, options.title, {.size = 16, .colour = kBlack, .bold = true});
    top += kTitleHeight;
  }
  const int columns = columns_of(panels.size(), options);
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const auto column = static_cast<int>(i) % columns, row = static_cast<int>(i) / columns;
    Panel(panels[i], options, canvas)
        .draw(kMargin + column * (options.panel_width + kMargin), top + row * (options.panel_height + kMargin));
  }
}

}  // namespace belfry
