// What stages ask of the flows that they draw on. Each throws; `who` is the stage, for the message.
#pragma once

#include <string_view>

#include "belfry/dataflow/dataflow.h"

#pragma GCC visibility push(default)
namespace belfry {

// For what needs all points: a flow that is known to have no end is refused instead of being read forever.
void check_ends(const DataFlow& flow, std::string_view who);

// For what depends on a point's place in the pass, or reads points again and expects the same.
void check_ordered(const DataFlow& flow, std::string_view who);

}  // namespace belfry
#pragma GCC visibility pop
