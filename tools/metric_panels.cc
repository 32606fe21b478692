#include "tools/metric_panels.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>

#include "belfry/base/check.h"
#include "belfry/base/internal/nearest.h"
#include "tools/command_line.h"

namespace belfry::tools {
namespace {

namespace fs = std::filesystem;

// The last `count` parts of a path.
std::string end_of(const fs::path& path, int count) {
  std::vector<std::string> parts;
  for (const fs::path& part : path) parts.push_back(part.string());
  std::string out;
  for (std::size_t i = parts.size() - std::min(parts.size(), static_cast<std::size_t>(count)); i < parts.size(); ++i)
    out += (out.empty() || out == "/" ? "" : "/") + parts[i];
  return out;
}

// "validation_" of "validation_cost"; "" if the name does not begin with such a word.
std::string data_prefix(const std::string& name) {
  for (const std::string word : {"validation", "valid", "val", "test", "training", "train", "dev", "eval"})
    if (name.size() > word.size() + 1 && name.starts_with(word) &&
        std::string_view("_-/.").find(name[word.size()]) != std::string_view::npos)
      return name.substr(0, word.size() + 1);
  return "";
}

bool is_training(const std::string& name) {
  const std::string prefix = data_prefix(name);
  return prefix.empty() || prefix.starts_with("train");
}

// By panel, the metrics in it: training first.
std::map<std::string, std::vector<std::string>> grouped(const std::vector<NamedRun>& runs) {
  std::map<std::string, std::set<std::string>> found;
  for (const NamedRun& run : runs)
    for (const auto& [name, points] : run.stats.metrics) found[metric_of(name)].insert(name);
  std::map<std::string, std::vector<std::string>> out;
  for (const auto& [panel, names] : found) {
    auto& sorted = out[panel];
    sorted.assign(names.begin(), names.end());
    std::ranges::sort(sorted, {},
                      [](const std::string& name) { return std::pair(!is_training(name), std::string_view(name)); });
  }
  return out;
}

Series series_of(const std::vector<StatsPoint>& points, CurveAxis axis) {
  Series out;
  // Almost always at the end: only a run that was continued from an earlier step may have written some twice.
  const auto add = [&](const CurvePoint& point) {
    out.points.insert(std::ranges::upper_bound(out.points, point.x, {}, &CurvePoint::x), point);
  };
  for (const StatsPoint& p : points) add({static_cast<double>(axis == CurveAxis::epoch ? p.epoch : p.step), p.value});
  return out;
}

CurvePanel panel_of(const std::string& metric, const std::vector<std::string>& names, const std::vector<NamedRun>& runs,
                    CurveAxis axis) {
  CurvePanel out{.title = names.size() == 1 ? names[0] : metric};
  for (std::size_t r = 0; r < runs.size(); ++r)
    for (const std::string& name : names) {
      const auto at = runs[r].stats.metrics.find(name);
      if (at == runs[r].stats.metrics.end()) continue;
      Series series = series_of(at->second, axis);
      const bool several = names.size() > 1;
      if (runs.size() == 1) {
        series.name = name;
      } else {
        // A colour for each run; what is training is dashed where both are there.
        series.name = several ? fmt::format("{}: {}", runs[r].name, name) : runs[r].name;
        series.colour = static_cast<int>(r);
        series.dashed = several && is_training(name);
      }
      out.series.push_back(std::move(series));
    }
  return out;
}

std::regex compile(const std::string& expression) {
  try {
    return std::regex(expression.empty() ? ".*" : expression);
  } catch (const std::regex_error& error) {
    throw BadArgument("--metrics",
                      fmt::format("expected a regular expression, got '{}' ({})", expression, error.what()));
  }
}

}  // namespace

std::vector<std::string> run_names(const std::vector<std::string>& paths) {
  std::vector<fs::path> whole;
  for (const std::string& path : paths) {
    fs::path p = fs::absolute(path).lexically_normal();
    if (p.filename().empty() || p.filename() == "stats.json") p = p.parent_path();
    whole.push_back(p);
  }
  for (int parts = 1; parts < 32; ++parts) {
    std::vector<std::string> names;
    for (const fs::path& p : whole) names.push_back(end_of(p, parts));
    if (std::set<std::string>(names.begin(), names.end()).size() == names.size()) return names;
  }
  return paths;
}

std::string metric_of(const std::string& name) { return name.substr(data_prefix(name).size()); }

std::vector<CurvePanel> metric_panels(const std::vector<NamedRun>& runs, const std::string& expression,
                                      CurveAxis axis) {
  const std::regex regex = compile(expression);
  std::vector<CurvePanel> out;
  std::vector<std::string> all;
  for (auto [metric, names] : grouped(runs)) {
    all.insert(all.end(), names.begin(), names.end());
    // The metric's own name chooses all of its series.
    if (!std::regex_match(metric, regex))
      std::erase_if(names, [&](const std::string& name) { return !std::regex_match(name, regex); });
    if (!names.empty()) out.push_back(panel_of(metric, names, runs, axis));
  }
  BELFRY_CHECK(!all.empty(), "[plot] '{}': expected numbers to draw, got none: no metric was written yet.",
               runs[0].stats.file);
  BELFRY_CHECK(!out.empty(), "[plot] expected '{}' to match the name of a metric, got none of {}.{}", expression,
               all.size(), did_you_mean(expression, all));
  return out;
}

}  // namespace belfry::tools
