// Batches: n points become one, each component stacked along a new first axis.
#pragma once

#include <cstdint>

#include "belfry/dataflow/flow.h"

namespace belfry {

enum class Remainder {
  drop,  // the points left over at the end of a pass are not used in it
  keep,  // they make a smaller last batch
};

// Within a batch all shapes must agree; throughout a pass, so must the number of components and their dtypes.
FlowStage batch(std::int64_t points, Remainder remainder = Remainder::drop);

}  // namespace belfry
