// Skipping one point of a flow.
#pragma once

#include "belfry/dataflow/dataflow.h"

namespace belfry {

// Does not read the point if the flow has random access. False at the end of the pass.
inline bool skip_point(DataFlow& flow) {
  if (RandomAccess* access = flow.random_access()) return access->next_index().has_value();
  return flow.next().has_value();
}

}  // namespace belfry
