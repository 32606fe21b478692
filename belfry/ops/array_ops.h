// Ops that move elements and change none. Dimensions that are not known until a step is fed stay unknown.
#pragma once

#include <concepts>
#include <string_view>
#include <vector>

#include "belfry/graph/attributes.h"
#include "belfry/graph/tensor.h"
#include "belfry/ops/sizes.h"

#pragma GCC visibility push(default)
namespace belfry {

// The same elements in another shape; one dimension may be kAny and then follows from the others.
Tensor reshape(const Operand& x, const Sizes& shape, std::string_view name = "");
// [batch, everything else]
Tensor batch_flatten(const Operand& x, std::string_view name = "");
// New dimensions of size 1, at these axes of the result.
Tensor expand_dims(const Operand& x, const Ints& axes, std::string_view name = "");
template <std::integral Axis>
Tensor expand_dims(const Operand& x, Axis axis, std::string_view name = "") {
  return expand_dims(x, Ints{axis}, name);
}
// Without these dimensions, which must have size 1; by default without all of size 1.
Tensor squeeze(const Operand& x, const Ints& axes = {}, std::string_view name = "");
// Axis i of the result is axis permutation[i] of x; by default the axes are reversed.
Tensor transpose(const Operand& x, const Ints& permutation = {}, std::string_view name = "");

// Joined along an axis; the other dimensions must agree.
Tensor concat(const std::vector<Operand>& tensors, int axis, std::string_view name = "");
template <std::same_as<Tensor> T>  // a template, so that braces mean operands
Tensor concat(const std::vector<T>& tensors, int axis, std::string_view name = "",
              const Location& where = Location::current()) {
  std::vector<Operand> operands;
  for (const Tensor& t : tensors) operands.emplace_back(t, where);
  return concat(operands, axis, name);
}
// Pieces of these sizes along an axis: split(x, {1, 2}, 0).
Tensors split(const Operand& x, const Ints& sizes, int axis, std::string_view name = "");
// This many equal parts. (split(x, {6}, 0) is one piece of size 6, split(x, 6, 0) six parts.)
Tensors split_evenly(const Operand& x, std::int64_t parts, int axis, std::string_view name = "");
template <std::integral Parts>
Tensors split(const Operand& x, Parts parts, int axis, std::string_view name = "") {
  return split_evenly(x, parts, axis, name);
}
// stack() joins tensors of one shape along a new axis; unstack() gives the parts of one along an axis of known size,
// which disappears.
Tensor stack(const std::vector<Operand>& tensors, int axis = 0, std::string_view name = "");
template <std::same_as<Tensor> T>
Tensor stack(const std::vector<T>& tensors, int axis = 0, std::string_view name = "",
             const Location& where = Location::current()) {
  std::vector<Operand> operands;
  for (const Tensor& t : tensors) operands.emplace_back(t, where);
  return stack(operands, axis, name);
}
Tensors unstack(const Operand& x, int axis = 0, std::string_view name = "");
// Repeated to this shape by NumPy's rules.
Tensor broadcast_to(const Operand& x, const Sizes& shape, std::string_view name = "");
// x repeated multiples[i] times along axis i: tile({1, 2}, {2}) is {1, 2, 1, 2}.
Tensor tile(const Operand& x, const Sizes& multiples, std::string_view name = "");

// The box that begins at `begin`, of this size; kAny: to the end. A `begin` that is computed in a run may differ from
// step to step at no cost, as long as the size does not; a box outside x ends the run with a NumericError.
Tensor slice(const Operand& x, const Sizes& begin, const Sizes& size, std::string_view name = "");

struct PadAmount {
  Size before = 0, after = 0;
};
// Surrounded by `value`, in x's type as cast() would make it; one PadAmount per axis.
Tensor pad(const Operand& x, const std::vector<PadAmount>& paddings, double value = 0, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
