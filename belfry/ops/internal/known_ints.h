// Rules for OpDefinition::ints: how the integers that shapes are made of pass through ops.
#pragma once

#include "belfry/graph/op_def.h"

namespace belfry {

// For an op that gives the elements of its first input in the same order.
KnownInts same_ints(const ShapeContext& c);

// For two inputs of one size, or one of which is a single number.
using KnownInt = std::optional<std::int64_t>;
using IntFunction = KnownInt (*)(std::int64_t, std::int64_t);
KnownInts combined_ints(const ShapeContext& c, IntFunction function);

// For an op that makes one number of a whole vector, beginning with `start`.
KnownInts folded_ints(const ShapeContext& c, IntFunction function, std::int64_t start);

// For an op that picks elements of a vector: the first, and every `step`-th up to `count` of them.
KnownInts picked_ints(const ShapeContext& c, std::int64_t first, std::int64_t count, std::int64_t step = 1);

// Arithmetic as kernels do it; what does not fit into 64 bits, and a quotient by 0, is unknown.
KnownInt int_sum(std::int64_t a, std::int64_t b);
KnownInt int_difference(std::int64_t a, std::int64_t b);
KnownInt int_product(std::int64_t a, std::int64_t b);
KnownInt int_quotient(std::int64_t a, std::int64_t b);  // towards zero
KnownInt int_floordiv(std::int64_t a, std::int64_t b);
KnownInt int_floormod(std::int64_t a, std::int64_t b);
KnownInt int_maximum(std::int64_t a, std::int64_t b);
KnownInt int_minimum(std::int64_t a, std::int64_t b);

}  // namespace belfry
