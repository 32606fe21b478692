// x | recompute(block): what `block` computes is computed again for the gradients instead of being kept in memory.
#pragma once

#include <utility>

#include "belfry/graph/recompute.h"
#include "belfry/nn/layer.h"

#pragma GCC visibility push(default)
namespace belfry {

// A layer, a sequence of layers, or any function from tensor to tensor, inside a RecomputeScope.
template <TensorFunction F>
auto recompute(F block, const Location& where = Location::current()) {
  return [block = std::move(block), where](const Tensor& x) -> Tensor {
    const RecomputeScope scope(where);
    return block(x);
  };
}

}  // namespace belfry
#pragma GCC visibility pop
