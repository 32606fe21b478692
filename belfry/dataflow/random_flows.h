// Flows mixed at random. Which flow point i of a pass comes from depends on (seed, epoch, i).
#pragma once

#include <cstdint>
#include <vector>

#include "belfry/dataflow/flow.h"

#pragma GCC visibility push(default)
namespace belfry {

struct RandomChooseOptions {
  std::vector<double> weights{};  // one for each flow, not all 0; none: all alike. They need not add up to 1
  std::uint64_t seed = 0;
};

// Each next point is taken from a flow that is chosen at random. A pass ends when the chosen flow has nothing more:
// how many points it has differs from epoch to epoch. For flows without an end, or that repeat(), it gives a steady
// ratio. Tensorpack's RandomChooseData.
Flow random_choose(std::vector<Flow> flows, RandomChooseOptions options = {});

// All points of all flows, each flow's in its own order, every interleaving as likely as any other. The sizes of the
// flows must be known. Tensorpack's RandomMixData. (Where there is random access, concat() | shuffle() also changes the
// order within each flow.)
Flow random_mix(std::vector<Flow> flows, std::uint64_t seed = 0);

}  // namespace belfry
#pragma GCC visibility pop
