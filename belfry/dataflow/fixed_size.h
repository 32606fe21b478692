// Passes of a given number of points, whatever the source has.
#pragma once

#include <cstdint>

#include "belfry/dataflow/flow.h"

#pragma GCC visibility push(default)
namespace belfry {

struct FixedSizeOptions {
  // Whether a pass continues where the one before it stopped, or starts over.
  bool keep_state = true;
};

// Every pass has exactly `points` points. Where a pass of the source ends, its next epoch follows. An empty pass of the
// source is an error. Tensorpack's FixedSizeData.
//
// With keep_state, the source's epochs 0, 1, 2, ... are one long sequence, and pass k is what it has from point
// k * points on. Going from pass to pass, and restore(), read nothing twice. Any other start_epoch() skips to its
// place: if the source's size is known, from the beginning of the epoch that it lies in (reading nothing, with random
// access); else, and with flows that have no end, from the very beginning.
//
// Without, pass k is the source's epoch k from its beginning and, if that is too short, epochs k + 1 and on.
FlowStage fixed_size(std::int64_t points, FixedSizeOptions options = {});

}  // namespace belfry
#pragma GCC visibility pop
