// What the process has in memory now.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace belfry::bench {

inline double resident_megabytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t total = 0, resident = 0;
  file >> total >> resident;
  return static_cast<double>(resident * sysconf(_SC_PAGESIZE)) / 1e6;
}

}  // namespace belfry::bench
