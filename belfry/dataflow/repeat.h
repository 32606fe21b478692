// Several passes as one.
#pragma once

#include <cstdint>

#include "belfry/dataflow/flow.h"

#pragma GCC visibility push(default)
namespace belfry {

inline constexpr std::int64_t kForever = -1;

// `times` passes of the source, each its next epoch (so reshuffled). Pass e of a finite repeat covers the source's
// epochs e * times and on; an endless one begins with epoch e. Repeating an empty source forever is an error,
// a pass that has fewer points than the source's size() a warning, once.
FlowStage repeat(std::int64_t times = kForever);

}  // namespace belfry
#pragma GCC visibility pop
