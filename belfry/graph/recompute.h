// Recompute (activation checkpointing): what is added to the graph inside a RecomputeScope is computed a second time
// for the gradients instead of being kept from the forward pass. Only the inputs of the scope and the results that
// others need stay in memory. All values are bit-identical.
//
//   Tensor y = x;
//   for (int k = 0; k < 16; ++k) {
//     const RecomputeScope scope;      // one segment per block; the same as x | recompute(block)
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

// For gradients(): what is made inside belongs to a new pass, or to the enclosing one if there is one.
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
