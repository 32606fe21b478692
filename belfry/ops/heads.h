// Splitting vectors into the heads of attention and merging them again, and other changes of the last axes that work
// even if the sizes of the other axes are unknown.
#pragma once

#include <cstdint>
#include <string_view>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

// [..., parts * n] -> [..., parts, n] and back.
Tensor split_last_axis(const Operand& x, std::int64_t parts, std::string_view name = "");
Tensor merge_last_axes(const Operand& x, std::string_view name = "");

// [batch, time, heads * depth] -> [batch, heads, time, depth] and back.
Tensor split_heads(const Operand& x, std::int64_t heads, std::string_view name = "");
Tensor merge_heads(const Operand& x, std::string_view name = "");

// The matrices of the last two axes with 0 outside a band: `lower` diagonals below the main one and `upper` above it,
// -1 for all of them. band_part(x, -1, 0) is the lower triangle.
Tensor band_part(const Operand& x, std::int64_t lower, std::int64_t upper, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
