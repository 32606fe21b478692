// The table of patterns that the fuse pass applies, in order. Each pattern is tried at every node, first to last.
#pragma once

#include <vector>

#include "belfry/engine/ir.h"

namespace belfry {

struct FusionPattern {
  const char* name;
  // Rewrites around `node` if the pattern is there; says whether it did.
  bool (*apply)(Ir& ir, NodeId node);
};

const std::vector<FusionPattern>& fusion_patterns();

}  // namespace belfry
