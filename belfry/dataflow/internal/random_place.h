// Where random numbers come from: (seed, epoch, index), and the stage's place in the chain.
#pragma once

#include <cstdint>
#include <vector>

#include "belfry/base/random.h"
#include "belfry/dataflow/flow_state.h"

namespace belfry {

// A seed for the stage that draws on these sources. Most users leave seeds at 0. So that two random stages of one chain
// still draw different numbers, the number of random stages before this one is mixed in; so that the parts of a sharded
// flow do, their ranks are. Stages without random numbers, caches among them, and the number of threads change nothing.
std::uint64_t seed_behind(std::uint64_t seed, const std::vector<FlowState>& sources);

// The numbers of one point.
inline RandomStream random_of(std::uint64_t seed, std::uint64_t epoch, std::uint64_t index) {
  return RandomStream(mix_seed(mix_seed(seed, epoch), index));
}

}  // namespace belfry
