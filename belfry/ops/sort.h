// Order along an axis. NaN counts as the largest; equal elements keep their order. Indices are i64, and gradients flow
// only through the values.
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

enum class SortOrder : std::uint8_t { ascending, descending };

Tensor sort(const Operand& x, int axis = -1, SortOrder order = SortOrder::ascending, std::string_view name = "");
// The indices that sort x: take_along_axis(x, argsort(x)) is sort(x).
Tensor argsort(const Operand& x, int axis = -1, SortOrder order = SortOrder::ascending, std::string_view name = "");

struct TopK {
  Tensor values, indices;
};
// The k largest of each vector along the last axis, the largest first.
TopK top_k(const Operand& x, std::int64_t k, std::string_view name = "");

// y[..., i, ...] = x[..., indices[..., i, ...], ...]: all other axes agree. An index outside the axis ends the run with
// a NumericError.
Tensor take_along_axis(const Operand& x, const Operand& indices, int axis = -1, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
