// Where random numbers come from: (seed, epoch, index), and the stage's place in the chain.
#pragma once

#include <cstdint>
#include <vector>

#include "belfry/base/random.h"
#include "belfry/dataflow/flow_state.h"

namespace belfry {

// A seed for the stage that draws on these sources. Most seeds are left at 0: so that two random stages of one chain do
// not draw the same numbers, it counts the random stages before this one; and so that the parts of a sharded flow do
// not, their ranks. Stages without random numbers, caches among them, and the number of
// threads, change nothing.
std::uint64_t seed_behind(std::uint64_t seed, const std::vector<FlowState>& sources);

// The numbers of one point.
inline RandomStream random_of(std::uint64_t seed, std::uint64_t epoch, std::uint64_t index) {
  return RandomStream(mix_seed(mix_seed(seed, epoch), index));
}

}  // namespace belfry
