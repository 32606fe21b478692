// Flows one after the other.
#pragma once

#include <vector>

#include "belfry/dataflow/flow.h"

#pragma GCC visibility push(default)
namespace belfry {

// A pass is a pass of the first flow, then one of the second, and so on; all are in the same epoch. If all have random
// access, so has this: concat({a, b}) | shuffle() mixes them.
Flow concat(std::vector<Flow> flows);

}  // namespace belfry
#pragma GCC visibility pop
