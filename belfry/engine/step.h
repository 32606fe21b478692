// What differs from run to run. Internal to engine.
#pragma once

#include <cstdint>

namespace belfry {

struct Step {
  std::uint64_t number = 0;  // the counter that random ops use
  std::uint64_t seed = 0;    // the graph's
};

}  // namespace belfry
