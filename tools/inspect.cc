#include "tools/inspect.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "belfry/base/check.h"
#include "belfry/dataflow/print_points.h"
#include "belfry/dataflow/speed_test.h"
#include "tools/component_summary.h"
#include "tools/sheet.h"

namespace belfry::tools {
namespace {

std::vector<DataPoint> first_points(Flow flow, std::int64_t count) {
  std::vector<DataPoint> out;
  flow.start_epoch(0);
  while (static_cast<std::int64_t>(out.size()) < count) {
    std::optional<DataPoint> point = flow.next();
    if (!point) break;
    out.push_back(std::move(*point));
  }
  return out;
}

std::string points_in(const Flow& flow) {
  if (flow->endless()) return "endless points";
  const std::optional<std::int64_t> size = flow.size();
  return size ? fmt::format("{} point(s)", *size) : "an unknown number of points";
}

// Checked before the work, not after it.
void check_place_of_sheet(const std::string& path) {
  check_sheet(path);
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  BELFRY_CHECK_AS(FileError, std::filesystem::is_directory(folder),
                  "[inspect] expected a folder for the sheet '{}', got none at '{}'. Make it first.", path,
                  folder.string());
}

void print_summaries(Flow flow, std::int64_t count) {
  std::vector<ComponentSummary> summaries;
  std::int64_t points = 0;
  flow.start_epoch(0);
  for (; points < count; ++points) {
    const std::optional<DataPoint> point = flow.next();
    if (!point) break;
    summaries.resize(std::max(summaries.size(), point->size()));
    for (std::size_t k = 0; k < point->size(); ++k) summaries[k].add((*point)[k]);
  }
  BELFRY_CHECK(points > 0, "[inspect] expected a flow with points, got '{}', which has none.", flow.describe());
  fmt::print("components over {} point(s):\n", points);
  for (std::size_t k = 0; k < summaries.size(); ++k)
    fmt::print("  {}  {:<24} {}\n", k, summaries[k].type(), summaries[k].values());
}

}  // namespace

void inspect(Flow flow, const InspectOptions& options) {
  if (!options.sheet.empty()) check_place_of_sheet(options.sheet);
  const std::optional<std::int64_t> size = flow.size();
  fmt::print("{}\n{} per pass, {}\n", flow.describe(), points_in(flow),
             flow->random_access() != nullptr ? "in any order" : "in order only");
  const std::vector<DataPoint> shown = first_points(flow, options.show);
  for (std::size_t i = 0; i < shown.size(); ++i) fmt::print("point {}: {}\n", i, describe_point(shown[i], 4));
  print_summaries(flow, options.points);

  flow.start_epoch(0);
  const std::int64_t measured = size ? std::min(options.points, *size) : options.points;
  const FlowSpeed speed = speed_test(flow, {.points = measured});
  fmt::print("speed: {:.0f} points/s, {:.1f} MB/s ({} points in {:.3f} s)\n", speed.points_per_second,
             speed.megabytes_per_second, speed.points, speed.seconds);
  if (!options.sheet.empty()) {
    const int images = write_sheet(options.sheet, flow, options.images);
    fmt::print("{}: {} image(s)\n", options.sheet, images);
  }
}

}  // namespace belfry::tools
