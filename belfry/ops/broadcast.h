// Ops on a tensor and the shape of another: what the gradients of broadcasting and reductions are made of. Of the
// second operand only the shape is used, known when a step is fed, so it is not kept alive.
#pragma once

#include <string_view>

#include "belfry/graph/attributes.h"
#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

Tensor sum_to_like(const Operand& x, const Operand& like, std::string_view name = "");  // undoes broadcasting
Tensor broadcast_like(const Operand& x, const Operand& like, std::string_view name = "");
Tensor reshape_like(const Operand& x, const Operand& like, std::string_view name = "");  // same number of elements
// x itself, whose axes axes[i] must be as large as like's like_axes[i]: where sizes are unknown, a run checks it.
Tensor match_sizes(const Operand& x, const Ints& axes, const Operand& like, const Ints& like_axes,
                   std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
