// Each point several times.
#pragma once

#include <cstdint>

#include "belfry/dataflow/flow.h"

#pragma GCC visibility push(default)
namespace belfry {

// Each point `times` times in a row: for several augmentations of one expensive read. The copies share their memory.
// Tensorpack's RepeatedDataPoint. A position among the copies of a point is restored by reading that point again.
FlowStage repeat_each(std::int64_t times);

}  // namespace belfry
#pragma GCC visibility pop
