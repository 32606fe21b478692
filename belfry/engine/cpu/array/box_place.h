// Where a box lies whose place is given in each run. Internal to engine/cpu.
#pragma once

#include <string>

#include "belfry/engine/cpu/kernel/kernel.h"
#include "belfry/engine/cpu/kernel/runtime_error.h"
#include "belfry/engine/cpu/kernel/strided_loop.h"

namespace belfry {

// A box of `part`'s shape within `whole`.
struct BoxPlace {
  Shape whole, part;
  Strides strides{};  // of the whole
  Ints steps;
  const Node* origin = nullptr;
  std::string remedy{};  // the end of the error

  // The offset of its first element; throws unless all of it is inside.
  std::int64_t offset(const std::int64_t* begin) const {
    std::int64_t out = 0;
    for (int i = 0; i < whole.rank(); ++i) {
      const auto axis = static_cast<std::size_t>(i);
      if (part[i] == 0) continue;  // nothing lies there
      const std::int64_t reach = (part[i] - 1) * (steps.empty() ? 1 : steps[axis]);
      const auto inside = [&](std::int64_t place) { return place >= 0 && place < whole[i]; };
      if (!inside(begin[i]) || !inside(begin[i] + reach))
        fail_numeric(origin, fmt::format("expected a box inside {}, got size {} from {} on along axis {}{}",
                                         to_string(whole), part[i], begin[i], i, remedy));
      out += begin[i] * strides[axis];
    }
    return out;
  }
};

inline BoxPlace place_of(const KernelContext& c, const Shape& whole, const Shape& part, const Ints& steps = {}) {
  return {.whole = whole,
          .part = part,
          .strides = dense_strides(whole),
          .steps = steps,
          .origin = c.origin,
          .remedy = c.attributes->get_or<std::string>("remedy", "")};
}

// Over the elements of the part: where they lie in the whole.
inline StridedLoop<1> loop_over(const BoxPlace& place) {
  Strides strides = place.strides;
  for (std::size_t i = 0; i < place.steps.size(); ++i) strides[i] *= place.steps[i];
  return StridedLoop<1>(place.part, {strides});
}

}  // namespace belfry
