// Which devices a trainer builds its towers on, and how work is spread over them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace belfry {

// Devices of the session, by number: cpu:0, cpu:1, ...
using Devices = std::vector<int>;

Devices cpu_devices(int count);  // 0 to count - 1

std::string device_name(int device);  // "cpu:1"

// Puts each thing where the fewest bytes are so far.
class LeastLoaded {
 public:
  explicit LeastLoaded(Devices devices) : devices_(std::move(devices)), bytes_(devices_.size(), 0) {}
  std::string place(std::int64_t bytes);  // "cpu:1"

 private:
  Devices devices_;
  std::vector<std::int64_t> bytes_;
};

}  // namespace belfry
