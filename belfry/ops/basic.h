// Where values enter a graph, and the ops that pass them on: constants, placeholders, identity, group, cast.
#pragma once

#include <concepts>
#include <string_view>
#include <vector>

#include "belfry/array/array.h"
#include "belfry/graph/tensor.h"
#include "belfry/ops/sizes.h"

#pragma GCC visibility push(default)
namespace belfry {

// A value that is part of the graph. Literals work too: constant(0.5f), constant(Array::of<float>({2}, {1, 2})).
Tensor constant(const Array& value, std::string_view name = "", const Location& where = Location::current());
// The same number everywhere, converted as by cast(). Made when it is needed: the graph keeps no copy.
Tensor fill(const Sizes& shape, double value, DType dtype = f32, std::string_view name = "",
            const Location& where = Location::current());
Tensor zeros(const Sizes& shape, DType dtype = f32, std::string_view name = "",
             const Location& where = Location::current());
Tensor ones(const Sizes& shape, DType dtype = f32, std::string_view name = "",
            const Location& where = Location::current());

// A value that every run has to feed; dimensions that may differ from run to run are kAny.
Tensor placeholder(DType dtype, const Shape& shape, std::string_view name = "",
                   const Location& where = Location::current());
Tensor placeholder(const TensorSpec& spec, const Location& where = Location::current());

// A value that a run may feed, in a shape that fits `shape`; x in runs that do not.
Tensor placeholder_with_default(const Operand& x, const Shape& shape, std::string_view name = "");

Tensor identity(const Operand& x, std::string_view name = "");
// x, through which no gradient flows.
Tensor stop_gradient(const Operand& x, std::string_view name = "");

// An operation that is done when all of these are. Operations, tensors and variables' assignments may be mixed:
// group({train, count.assign_add(1.f)}).
Operation group(const std::vector<Operation>& operations, std::string_view name = "",
                const Location& where = Location::current());
template <std::same_as<Tensor> T>  // a template, so that braces mean operations
Operation group(const std::vector<T>& tensors, std::string_view name = "",
                const Location& where = Location::current()) {
  return group(std::vector<Operation>(tensors.begin(), tensors.end()), name, where);
}

// x in another type; x itself if it has that type and no name is given. Floats become integers by rounding towards zero
// and clamping to the type's range; NaN becomes 0. Integers keep their low bits, as in C++. Anything but 0 is true, NaN
// too.
Tensor cast(const Operand& x, DType dtype, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
