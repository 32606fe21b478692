// Which graphs exist: so that a handle into one that is gone is an error, and not a crash. Internal to belfry/graph.
#pragma once

#include "belfry/graph/tensor.h"

namespace belfry {

// Gives a new graph its number. No number is given twice.
GraphId add_live_graph();
void remove_live_graph(GraphId id);
// True for 0, which means no graph. Takes no lock as long as a thread asks for the same graph and none ends.
bool is_live_graph(GraphId id);

}  // namespace belfry
