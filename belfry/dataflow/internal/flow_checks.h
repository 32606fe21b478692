// What stages ask of the flows that they draw on, and of their own passes. Each throws; `who` asks, for the message.
#pragma once

#include <string_view>

#include "belfry/dataflow/dataflow.h"

namespace belfry {

// For what needs all points: a flow that is known to have no end is refused, instead of read for ever.
void check_ends(const DataFlow& flow, std::string_view who);

// For what depends on a point's place in the pass, or reads points again and expects the same.
void check_ordered(const DataFlow& flow, std::string_view who);

// After an error the source has lost a point, or stands in the middle of something: the pass cannot go on.
void check_goes_on(bool goes_on, std::string_view who);

}  // namespace belfry
