// Pictures of how numbers went: a panel for each metric, a line for each series in it.
//
//   std::string svg = curves_svg({{"cost", {{"training", points}, {"validation", other_points}}}});
#pragma once

#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace belfry {

struct CurvePoint {
  double x = 0, y = 0;  // a y that is not finite leaves a gap, and a cross at the upper edge
};

struct Series {
  std::string name{};
  std::vector<CurvePoint> points{};  // by rising x
  int colour = -1;                   // which one of the palette; -1: a different one for each series of a panel
  bool dashed = false;
};

struct CurvePanel {
  std::string title{};
  std::vector<Series> series{};
};

struct CurveOptions {
  std::string title{};  // above all panels
  std::string x_label = "epoch";
  bool logarithmic = false;  // the y axis of panels whose values are all above 0
  // Between 0 and 1: how much of each drawn value comes from those before it. The values themselves are drawn in a
  // lighter colour.
  double smoothing = 0;
  int columns = 0;  // of panels; 0: as suits their number
  int panel_width = 480, panel_height = 300;
};

// An SVG file. Throws if there is no panel, or if the options are out of range.
std::string curves_svg(const std::vector<CurvePanel>& panels, const CurveOptions& options = {});

// What is drawn for `smoothing`: s_i = (sum_{j<=i} a^(i-j) y_j) / (sum_{j<=i} a^(i-j)), where values that are not
// finite count neither above nor below.
std::vector<CurvePoint> smoothed(const std::vector<CurvePoint>& points, double smoothing);

}  // namespace belfry
#pragma GCC visibility pop
