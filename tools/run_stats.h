// The numbers of a run: what JSONWriter left in its directory.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace belfry::tools {

struct StatsPoint {
  std::int64_t epoch = 0, step = 0;
  double value = 0;
};

struct RunStats {
  std::string file{};
  std::map<std::string, std::vector<StatsPoint>> metrics{};  // in the file's order
};

// `run` is a run's directory, or such a file itself. Throws FileError, which says what is wrong, if there is none or it
// is damaged.
RunStats read_run_stats(const std::string& run);

std::string stats_file_of(const std::string& run);

}  // namespace belfry::tools
