// Records when each instruction of each run began and ended; writes Chrome-trace JSON (chrome://tracing, Perfetto).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "belfry/base/mutex.h"

namespace belfry {

class Profiler {
 public:
  static std::int64_t now();  // nanoseconds
  struct Event {
    std::string name, op;
    int device = 0;
    bool in_library = false;  // spent in a library that the backend computes with (the CPU's: oneDNN)
    std::int64_t begin = 0, end = 0;
  };
  struct Total {
    std::string op;
    std::int64_t nanoseconds = 0;
    bool in_library = false;
  };

  void record(Event event);
  void write(const std::string& path) const;
  std::vector<Total> totals() const;  // by op, largest first
  void clear();

 private:
  mutable Mutex mutex_;
  std::vector<Event> events_ BELFRY_GUARDED_BY(mutex_);
};

}  // namespace belfry
