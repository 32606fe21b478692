// Elements picked by a condition. How many there are depends on data: what comes after is planned for each number that
// occurs (see sizes.h).
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"
#include "belfry/ops/sizes.h"

#pragma GCC visibility push(default)
namespace belfry {

struct MaskOptions {
  int axis = 0;  // the first axis of x that the mask covers
};
// The entries of x where the mask is true, in their order: a mask of rank k covers k axes of x from `axis` on, which
// become one. boolean_mask([[1, 2], [3, 4]], [true, false]) is [[1, 2]].
Tensor boolean_mask(const Operand& x, const Operand& mask, const MaskOptions& options = {}, std::string_view name = "");

// Where a condition is true, i64 [how many, rank]: the index of each place, in row-major order.
Tensor nonzero(const Operand& condition, std::string_view name = "");

// Which steps belong to sequences of these lengths (i32 or i64, any shape): bool [..., steps], true at those below the
// length. Without `steps`, as many as the longest has, which depends on data.
Tensor sequence_mask(const Operand& lengths, const Size& steps, std::string_view name = "");
Tensor sequence_mask(const Operand& lengths, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
