#include "belfry/engine/profiler.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

#include "belfry/base/file.h"

namespace belfry {

std::int64_t Profiler::now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Profiler::record(const std::string& name, const std::string& op, int device, std::int64_t begin, std::int64_t end) {
  const std::lock_guard lock(mutex_);
  events_.push_back({name, op, device, begin, end});
}

void Profiler::write(const std::string& path) const {
  nlohmann::json trace = nlohmann::json::array();
  {
    const std::lock_guard lock(mutex_);
    for (const Event& e : events_)
      trace.push_back({{"name", e.op}, {"cat", "op"}, {"ph", "X"}, {"pid", 0}, {"tid", e.device}, {"args", {{"name", e.name}}},
                       {"ts", static_cast<double>(e.begin) * 1e-3}, {"dur", static_cast<double>(e.end - e.begin) * 1e-3}});
  }
  write_file_atomically(path, nlohmann::json{{"traceEvents", std::move(trace)}}.dump());
}

std::vector<std::pair<std::string, std::int64_t>> Profiler::totals() const {
  std::map<std::string, std::int64_t> sums;
  {
    const std::lock_guard lock(mutex_);
    for (const Event& e : events_) sums[e.op] += e.end - e.begin;
  }
  std::vector<std::pair<std::string, std::int64_t>> out(sums.begin(), sums.end());
  std::ranges::stable_sort(out, [](const auto& a, const auto& b) { return a.second > b.second; });
  return out;
}

}  // namespace belfry
