// Flows side by side.
#pragma once

#include <vector>

#include "belfry/dataflow/flow.h"

#pragma GCC visibility push(default)
namespace belfry {

// Point i has the components of all flows' points i, in the order of the list: images beside labels. Tensorpack's
// JoinData. A pass ends with the shortest flow; what the others have beyond is not used in it. The size is known if
// all sizes are.
//
// An error in one of the flows leaves them out of step: until start_epoch() or restore(), next() and state() are errors
// too.
Flow zip(std::vector<Flow> flows);

}  // namespace belfry
#pragma GCC visibility pop
