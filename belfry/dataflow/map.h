// Changing points one by one.
#pragma once

#include <cstddef>
#include <functional>

#include "belfry/dataflow/flow.h"

namespace belfry {

// Each point becomes function(point). The function must be a pure one (the same result for the same point), or saved
// positions do not bring back the same points; behind prefetch() it runs on another thread. An array that it is given
// may be shared with the source: clone() it before changing it in place.
FlowStage map(std::function<DataPoint(DataPoint)> function);

// The same for one component; the others pass unchanged.
FlowStage map_component(std::function<Array(Array)> function, std::size_t index = 0);

}  // namespace belfry
