#include "tools/plot.h"

#include <fmt/format.h>

#include "belfry/base/check.h"
#include "belfry/base/file.h"
#include "belfry/callbacks/monitors/curve_canvas.h"
#include "belfry/dataflow/png.h"
#include "tools/json_output.h"
#include "tools/metric_panels.h"
#include "tools/raster_canvas.h"
#include "tools/terminal_plot.h"
#include "tools/text_table.h"

namespace belfry::tools {
namespace {

constexpr double kPngScale = 2;  // for screens with many pixels, and for print
constexpr double kMostPixels = 2e8;

std::vector<NamedRun> read_runs(const std::vector<std::string>& paths) {
  const std::vector<std::string> names = run_names(paths);
  std::vector<NamedRun> out;
  for (std::size_t i = 0; i < paths.size(); ++i) out.push_back({names[i], read_run_stats(paths[i])});
  return out;
}

void write_picture(const std::string& path, const std::vector<CurvePanel>& panels, const CurveOptions& options) {
  if (path.ends_with(".svg")) return write_file_atomically(path, curves_svg(panels, options));
  const CurveSize size = size_of_curves(panels, options);
  BELFRY_CHECK(
      size.width * size.height * kPngScale * kPngScale <= kMostPixels,
      "[plot] expected a picture of at most {:g} pixels, got one of {} panels. Choose with --metrics, or write "
      "an .svg.",
      kMostPixels, panels.size());
  RasterCanvas canvas(size, kPngScale);
  draw_curves(panels, options, canvas);
  write_png(path, canvas.image());
}

Json json_of(const std::vector<CurvePanel>& panels) {
  Json out = Json::array();
  for (const CurvePanel& panel : panels) {
    Json series = Json::array();
    for (const Series& s : panel.series) {
      Json points = Json::array();
      for (const CurvePoint& p : s.points) points.push_back({json_number(p.x), json_number(p.y)});
      series.push_back({{"name", s.name}, {"points", std::move(points)}});
    }
    out.push_back({{"metric", panel.title}, {"series", std::move(series)}});
  }
  return out;
}

void print_plots(const std::vector<CurvePanel>& panels, const CurveOptions& options, const PlotOptions& asked) {
  TerminalStyle style = style_of_terminal();
  style.ascii = style.ascii || asked.ascii;
  if (asked.width > 0) style.width = asked.width;
  for (const CurvePanel& panel : panels)
    fmt::print("{}{}", &panel == panels.data() ? "" : "\n", terminal_plot(panel, options, style));
}

}  // namespace

void plot(const PlotOptions& options) {
  BELFRY_CHECK(options.output.empty() || options.output.ends_with(".svg") || options.output.ends_with(".png"),
               "[plot] expected an output that ends in .svg or .png, got '{}'.", options.output);
  const std::vector<NamedRun> runs = read_runs(options.runs);
  std::vector<CurvePanel> panels =
      metric_panels(runs, options.metrics, options.x == "step" ? CurveAxis::step : CurveAxis::epoch);
  const CurveOptions drawing{.title = runs.size() == 1 ? runs[0].name : "",
                             .x_label = options.x,
                             .logarithmic = options.logarithmic,
                             .smoothing = options.smoothing};
  if (!options.output.empty()) write_picture(options.output, panels, drawing);
  if (options.json) {
    Json out{{"runs", options.runs}, {"x", options.x}};
    if (!options.output.empty()) out["output"] = options.output;
    out["panels"] = json_of(panels);
    return print_json(out);
  }
  if (options.output.empty()) return print_plots(panels, drawing, options);
  fmt::print("{}: {} of {}\n", options.output, count_text(std::ssize(panels), "panel"),
             count_text(std::ssize(runs), "run"));
}

}  // namespace belfry::tools
