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
#include "tools/json_output.h"
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

struct Summaries {
  std::int64_t points = 0;
  std::vector<ComponentSummary> components{};
};

Summaries summaries_of(Flow flow, std::int64_t count) {
  Summaries out;
  flow.start_epoch(0);
  for (; out.points < count; ++out.points) {
    const std::optional<DataPoint> point = flow.next();
    if (!point) break;
    out.components.resize(std::max(out.components.size(), point->size()));
    for (std::size_t k = 0; k < point->size(); ++k) out.components[k].add((*point)[k]);
  }
  BELFRY_CHECK(out.points > 0, "[inspect] expected a flow with points, got '{}', which has none.", flow.describe());
  return out;
}

FlowSpeed speed_of(const Flow& flow, std::int64_t points) {
  const std::optional<std::int64_t> size = flow.size();
  return speed_test(flow, {.points = size ? std::min(points, *size) : points});
}

void print_as_json(const Flow& flow, const InspectOptions& options) {
  Json out{{"flow", flow.describe()}, {"endless", flow->endless()}};
  if (const auto size = flow.size(); size && !flow->endless()) out["points"] = *size;
  out["any_order"] = flow->random_access() != nullptr;
  out["first"] = Json::array();
  for (const DataPoint& point : first_points(flow, options.show)) out["first"].push_back(describe_point(point, 4));
  const Summaries summaries = summaries_of(flow, options.points);
  out["read"] = summaries.points;
  out["components"] = Json::array();
  for (const ComponentSummary& c : summaries.components)
    out["components"].push_back({{"type", c.type()}, {"values", c.values()}});
  const FlowSpeed speed = speed_of(flow, options.points);
  out["speed"] = {{"points_per_second", speed.points_per_second},
                  {"megabytes_per_second", speed.megabytes_per_second},
                  {"points", speed.points},
                  {"seconds", speed.seconds}};
  if (!options.sheet.empty())
    out["sheet"] = {{"file", options.sheet}, {"images", write_sheet(options.sheet, flow, options.images)}};
  print_json(out);
}

}  // namespace

void inspect(Flow flow, const InspectOptions& options) {
  if (!options.sheet.empty()) check_place_of_sheet(options.sheet);
  if (options.json) return print_as_json(flow, options);
  fmt::print("{}\n{} per pass, {}\n", flow.describe(), points_in(flow),
             flow->random_access() != nullptr ? "in any order" : "in order only");
  const std::vector<DataPoint> shown = first_points(flow, options.show);
  for (std::size_t i = 0; i < shown.size(); ++i) fmt::print("point {}: {}\n", i, describe_point(shown[i], 4));
  const Summaries summaries = summaries_of(flow, options.points);
  fmt::print("components over {} point(s):\n", summaries.points);
  for (std::size_t k = 0; k < summaries.components.size(); ++k)
    fmt::print("  {}  {:<24} {}\n", k, summaries.components[k].type(), summaries.components[k].values());

  flow.start_epoch(0);
  const FlowSpeed speed = speed_of(flow, options.points);
  fmt::print("speed: {:.0f} points/s, {:.1f} MB/s ({} points in {:.3f} s)\n", speed.points_per_second,
             speed.megabytes_per_second, speed.points, speed.seconds);
  if (!options.sheet.empty()) {
    const int images = write_sheet(options.sheet, flow, options.images);
    fmt::print("{}: {} image(s)\n", options.sheet, images);
  }
}

}  // namespace belfry::tools
