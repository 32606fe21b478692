// Rules for OpDefinition::ints: how the integers that shapes are made of pass through ops.
#pragma once

#include "belfry/graph/op_def.h"

namespace belfry {

// Of an op that gives the elements of its first input in the same order.
KnownInts same_ints(const ShapeContext& c);

// Of two inputs of one size, or one of which is a single number.
using IntFunction = std::optional<std::int64_t> (*)(std::int64_t, std::int64_t);
KnownInts combined_ints(const ShapeContext& c, IntFunction function);

}  // namespace belfry
