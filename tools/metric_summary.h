// The last and the best value of each metric of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/run_stats.h"

namespace belfry::tools {

struct MetricSummary {
  std::string name{};
  StatsPoint last{};
  std::optional<StatsPoint> best{};  // of the finite ones; the first of equal ones
  bool higher_is_better = false;
};

// By name. Higher is better for what is called accuracy, score, reward and the like; for anything else, lower.
std::vector<MetricSummary> summarized(const RunStats& stats);

bool higher_is_better(const std::string& metric);

}  // namespace belfry::tools
