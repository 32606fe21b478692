// Python's slices, resolved against the size of an axis. Shared by the op and its kernels.
#pragma once

#include <algorithm>
#include <limits>

#include "belfry/graph/attributes.h"

namespace belfry {

inline constexpr std::int64_t kNoBound = std::numeric_limits<std::int64_t>::min();

struct ResolvedRange {
  std::int64_t first = 0, count = 0, step = 1;
};

inline ResolvedRange resolve_range(std::int64_t size, std::int64_t begin, std::int64_t end, std::int64_t step) {
  // Places before the first element of a backward range and after the last of a forward one are allowed.
  const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  const auto place = [&](std::int64_t bound, std::int64_t otherwise) {
    if (bound == kNoBound) return otherwise;
    return std::clamp(bound < 0 ? bound + size : bound, low, high);
  };
  const std::int64_t first = place(begin, step > 0 ? low : high), last = place(end, step > 0 ? high : low);
  const std::int64_t distance = step > 0 ? last - first : first - last, stride = step > 0 ? step : -step;
  return {first, distance <= 0 ? 0 : (distance - 1) / stride + 1, step};
}

// The range of one axis from the attributes of a StridedSlice.
inline ResolvedRange range_of(const Attributes& attributes, int axis, std::int64_t size) {
  const auto i = static_cast<std::size_t>(axis);
  const Ints& step = attributes.get<Ints>("step");
  if (i >= step.size()) return {0, size, 1};
  return resolve_range(size, attributes.get<Ints>("begin")[i], attributes.get<Ints>("end")[i], step[i]);
}

}  // namespace belfry
