// The axes of an array in another order, and arrays taken apart and put together along one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "belfry/array/array.h"

namespace belfry {

// Axis k of the result is axis axes[k] of `in`: a permutation of its axes.
Array transposed(const Array& in, std::span<const std::int64_t> axes);

// Parts of these sizes along an axis, which they fill.
std::vector<Array> divided(const Array& in, int axis, std::span<const std::int64_t> sizes);

// One after the other along an axis; they agree in type and in the other axes.
Array joined(const std::vector<Array>& parts, int axis);

// The last axis in as many blocks as `order` has numbers: block k of the result is block order[k] of `in`.
Array with_blocks_in_order(const Array& in, std::span<const std::int64_t> order);

}  // namespace belfry
