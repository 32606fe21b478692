// Which metrics share a panel, and which line is whose.
#pragma once

#include <string>
#include <vector>

#include "belfry/callbacks/monitors/curves.h"
#include "tools/run_stats.h"

namespace belfry::tools {

struct NamedRun {
  std::string name{};
  RunStats stats{};
};

// The shortest ends of the paths that tell the runs apart: "a" and "b" of train_log/a and train_log/b/.
std::vector<std::string> run_names(const std::vector<std::string>& paths);

// "cost" of "validation_cost", "val/cost" and "train_cost": a metric without the part that says on which data.
std::string metric_of(const std::string& name);

enum class CurveAxis : std::uint8_t { epoch, step };

// A panel for each metric that `expression` matches whole ("": all), with its series of all runs. Throws BadArgument if
// the expression is not valid, and Error if it matches nothing, with the nearest names.
std::vector<CurvePanel> metric_panels(const std::vector<NamedRun>& runs, const std::string& expression, CurveAxis axis);

}  // namespace belfry::tools
