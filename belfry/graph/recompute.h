// Recompute (activation checkpointing): what is added to the graph inside a RecomputeScope is computed a second time
// for the gradients instead of being kept from the forward pass. Only what enters the scope and what others need of it
// stays in memory. The results are the same bits.
//
//   Tensor y = x;
//   for (int k = 0; k < 16; ++k) {
//     const RecomputeScope scope;      // one segment a block; x | recompute(block) says the same
//     y = block(y);
//   }
//
// Effects (assignments, print, check_numerics) happen once: their results are kept, and so are those of users' ops. A
// scope inside another is an error. Close it before gradients() is called.
#pragma once

#include "belfry/graph/location.h"
#include "belfry/graph/scope.h"

#pragma GCC visibility push(default)
namespace belfry {

class RecomputeScope : private ScopeGuard {
 public:
  explicit RecomputeScope(const Location& where = Location::current());
};

// For gradients(): what is made inside belongs to a pass of its own, or to the one it is called from.
class GradientPassScope : private ScopeGuard {
 public:
  GradientPassScope(Graph& graph, const Location& where);
};
// The gradient of a node is part of the node's segment, in the current pass.
class GradientOfScope : private ScopeGuard {
 public:
  explicit GradientOfScope(const Node& node);
};
// A copy of a node is marked as the node is.
class CopyOfScope : private ScopeGuard {
 public:
  explicit CopyOfScope(const Node& node);
};

}  // namespace belfry
#pragma GCC visibility pop
