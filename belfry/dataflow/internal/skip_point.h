// Moving a flow on by a point that nobody wants.
#pragma once

#include "belfry/dataflow/dataflow.h"

namespace belfry {

// Without reading it, where the flow has random access. False at the end of the pass.
inline bool skip_point(DataFlow& flow) {
  if (RandomAccess* access = flow.random_access()) return access->next_index().has_value();
  return flow.next().has_value();
}

}  // namespace belfry
