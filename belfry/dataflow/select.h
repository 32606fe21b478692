// Choosing and reordering components.
#pragma once

#include <cstddef>
#include <vector>

#include "belfry/dataflow/flow.h"

#pragma GCC visibility push(default)
namespace belfry {

// Component k of each point is the source's component components[k]: select({1, 0}) swaps two, select({0}) keeps the
// first alone. Tensorpack's SelectComponent.
FlowStage select(std::vector<std::size_t> components);

}  // namespace belfry
#pragma GCC visibility pop
