#include "belfry/train/devices.h"

#include <algorithm>
#include <numeric>

#include "belfry/base/check.h"

namespace belfry {

Devices cpu_devices(int count) {
  BELFRY_CHECK(count >= 1, "[cpu_devices] expected at least one device, got {}.", count);
  Devices out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

std::string device_name(int device) { return fmt::format("cpu:{}", device); }

std::string LeastLoaded::place(std::int64_t bytes) {
  const auto least = static_cast<std::size_t>(std::ranges::min_element(bytes_) - bytes_.begin());
  bytes_[least] += bytes;
  return device_name(devices_[least]);
}

}  // namespace belfry
