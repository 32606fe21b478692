// Axes as users give them: negative ones counted from the end, each at most once. Shared by the op families.
#pragma once

#include "belfry/graph/attributes.h"
#include "belfry/graph/tensor.h"

namespace belfry {

// Axes of a tensor of `rank` dimensions, made positive and sorted. A mistake names `op`, x and the caller's line.
Ints normalize_axes(const Operand& x, const Ints& axes, int rank, const char* op);
std::int64_t normalize_axis(const Operand& x, std::int64_t axis, int rank, const char* op);

}  // namespace belfry
