// Boxes whose place or size is computed in a run: what slices and paddings of tensors are made of.
#pragma once

#include <string_view>

#include "belfry/graph/attributes.h"
#include "belfry/graph/tensor.h"

namespace belfry {

class ShapeContext;

// y[i] = x[begin + i * step] in like's shape; `begin` i64 [rank] is read in each run. A place outside x ends the run
// with a NumericError. `steps`: one per axis; empty: 1.
Tensor slice_at(const Operand& x, const Tensor& begin, const Tensor& like, const Ints& steps = {},
                std::string_view name = "");
// The reverse: `value` in like's shape, with x in those places.
Tensor place_at(const Operand& x, const Tensor& begin, const Tensor& like, const Ints& steps = {}, double value = 0,
                std::string_view name = "");

// The sizes of a box of x that begins at `begin`, where kAny means to the end.
Tensor box_sizes(const Tensor& x, const Tensor& begin, const Tensor& sizes);

// For shape rules: an input must have a number for each axis of the first.
void check_one_each(const ShapeContext& c, int input, const char* what);

}  // namespace belfry
