// Reading and adding at indices into the first axes of a tensor. indices [..., k] of i32 or i64 hold one index into
// x's first k axes each; an index outside ends the run with a NumericError.
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

// y[...] = x[indices[...]], of shape indices.shape[:-1] + x.shape[k:].
Tensor gather_nd(const Operand& x, const Operand& indices, std::string_view name = "");

// Zeros of a shape with the updates added at the indices; those at the same index add up, in their order.
Tensor scatter_nd(const Operand& indices, const Operand& updates, const Shape& shape, std::string_view name = "");
// x with the updates added.
Tensor scatter_nd_add(const Operand& x, const Operand& indices, const Operand& updates, std::string_view name = "");
// The same for indices [...] of x's rows: updates [..., x.shape[1:]].
Tensor scatter_add(const Operand& x, const Operand& indices, const Operand& updates, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
