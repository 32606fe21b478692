// A source of points that are in memory.
#pragma once

#include <vector>

#include "belfry/dataflow/flow.h"

#pragma GCC visibility push(default)
namespace belfry {

// The points in order, in every pass. The arrays are shared with what is given out, not copied.
Flow from_list(std::vector<DataPoint> points);

}  // namespace belfry
#pragma GCC visibility pop
