// Records when each instruction of each run began and ended; writes Chrome-trace JSON (chrome://tracing, Perfetto).
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace belfry {

class Profiler {
 public:
  static std::int64_t now();  // nanoseconds
  void record(const std::string& name, const std::string& op, int device, std::int64_t begin, std::int64_t end);
  void write(const std::string& path) const;
  // Total nanoseconds by op since the start, largest first.
  std::vector<std::pair<std::string, std::int64_t>> totals() const;

 private:
  struct Event {
    std::string name, op;
    int device;
    std::int64_t begin, end;
  };
  mutable std::mutex mutex_;
  std::vector<Event> events_;  // guarded by mutex_
};

}  // namespace belfry
