// Random order, another in each epoch, the same for the same seed.
#pragma once

#include <cstdint>

#include "belfry/dataflow/flow.h"

#pragma GCC visibility push(default)
namespace belfry {

// The whole source in an order that depends on (seed, epoch). Needs a source with random access (lists, idx files, and
// map() over them); others can use shuffle_local().
FlowStage shuffle(std::uint64_t seed = 0);

// For sources that can only be read in order: each run of `buffer` points is read into memory and given out in an order
// that depends on (seed, epoch, number of the run). Restoring a position reads again only the run it lies in.
FlowStage shuffle_local(std::int64_t buffer, std::uint64_t seed = 0);

}  // namespace belfry
#pragma GCC visibility pop
