// Norms over many tensors at once, and gradients clipped to a norm. Outside any DeviceScope each tensor is read on the
// device that makes it.
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

// The sum of x's squares, in one pass.
Tensor sum_squares(const Operand& x, std::string_view name = "");

// sqrt(sum of the squares of all elements of all tensors). Empty tensors (unconnected gradients) are skipped. Of a
// sparse gradient only the rows that it has are read.
Tensor global_norm(const Tensors& tensors, std::string_view name = "", const Location& where = Location::current());

struct ClippedTensors {
  Tensors tensors{};  // one for each given tensor; empty for an empty one
  Tensor norm{};      // before clipping
};

// Each tensor times clip_norm / max(global norm, clip_norm): together they keep their direction, and their norm is at
// most clip_norm. A sparse gradient stays sparse. If an optimizer's update takes the result, the update itself does the
// multiplication: the clipped gradients are not written to memory.
ClippedTensors clip_by_global_norm(const Tensors& tensors, const Operand& clip_norm, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
