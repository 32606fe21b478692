// How work is spread over the devices that a trainer builds its towers on.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "belfry/graph/device.h"

#pragma GCC visibility push(default)
namespace belfry {

// Assigns each thing to the device with the fewest bytes so far.
class LeastLoaded {
 public:
  explicit LeastLoaded(Devices devices) : devices_(std::move(devices)), bytes_(devices_.size(), 0) {}
  Device place(std::int64_t bytes);

 private:
  Devices devices_;
  std::vector<std::int64_t> bytes_;
};

}  // namespace belfry
#pragma GCC visibility pop
