// Tensors made from numbers, indices and shapes. Nothing here has a gradient. (fill() is in basic.h.)
#pragma once

#include <string_view>

#include "belfry/ops/sizes.h"

#pragma GCC visibility push(default)
namespace belfry {

struct OneHotOptions {
  double on = 1, off = 0;
  DType dtype = DType::f32;
  int axis = -1;  // where the new axis is in the result
};
// A new axis of size `depth` with `on` at the index and `off` elsewhere; an index outside [0, depth) gives only `off`.
Tensor one_hot(const Operand& indices, const Size& depth, const OneHotOptions& options = {},
               std::string_view name = "");

struct RangeOptions {
  double start = 0, limit = 0, delta = 1;
  DType dtype = DType::i32;
};
// start, start + delta, ... while below the limit (above it, for a negative delta): range({.limit = 3}) is {0, 1, 2}.
Tensor range(const RangeOptions& options, std::string_view name = "", const Location& where = Location::current());
// The same between tensors, scalars of one type, which is the result's: range(0, size_of(x, 0)).
Tensor range(const Operand& start, const Operand& limit, const Operand& delta = 1, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
