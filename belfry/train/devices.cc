#include "belfry/train/devices.h"

#include <algorithm>

namespace belfry {

Device LeastLoaded::place(std::int64_t bytes) {
  const auto least = static_cast<std::size_t>(std::ranges::min_element(bytes_) - bytes_.begin());
  bytes_[least] += bytes;
  return devices_[least];
}

}  // namespace belfry
