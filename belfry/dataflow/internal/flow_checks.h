// For what needs all points of a flow: one that is known to have no end is refused, instead of read for ever.
#pragma once

#include <string_view>

#include "belfry/dataflow/dataflow.h"

namespace belfry {

// Throws if the flow is endless. `who` needs the points, for the message.
void check_ends(const DataFlow& flow, std::string_view who);

}  // namespace belfry
