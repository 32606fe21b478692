#include "belfry/engine/profiler.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

#include "belfry/base/file.h"

namespace belfry {

std::int64_t Profiler::now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void Profiler::record(Event event) {
  const MutexLock lock(mutex_);
  events_.push_back(std::move(event));
}

void Profiler::clear() {
  const MutexLock lock(mutex_);
  events_.clear();
}

void Profiler::write(const std::string& path) const {
  nlohmann::json trace = nlohmann::json::array();
  {
    const MutexLock lock(mutex_);
    for (const Event& e : events_)
      trace.push_back({{"name", e.op},
                       {"cat", "op"},
                       {"ph", "X"},
                       {"pid", 0},
                       {"tid", e.device},
                       {"args", {{"name", e.name}}},
                       {"ts", static_cast<double>(e.begin) * 1e-3},
                       {"dur", static_cast<double>(e.end - e.begin) * 1e-3}});
  }
  // Names are bytes that a user chose: invalid UTF-8 is replaced rather than refused.
  write_file_atomically(path, nlohmann::json{{"traceEvents", std::move(trace)}}.dump(
                                  -1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::vector<Profiler::Total> Profiler::totals() const {
  std::map<std::pair<std::string, bool>, Total> sums;  // an op may have kernels of both kinds
  {
    const MutexLock lock(mutex_);
    for (const Event& e : events_) {
      Total& t = sums[{e.op, e.in_library}];
      t = {e.op, t.nanoseconds + e.end - e.begin, e.in_library};
    }
  }
  std::vector<Total> out;
  for (auto& [key, total] : sums) out.push_back(total);
  std::ranges::sort(out, [](const Total& a, const Total& b) {
    return a.nanoseconds != b.nanoseconds ? a.nanoseconds > b.nanoseconds : a.op < b.op;
  });
  return out;
}

}  // namespace belfry
