// One-dimensional convolution of sequences: a two-dimensional one over images of height 1.
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"
#include "belfry/ops/window.h"

#pragma GCC visibility push(default)
namespace belfry {

struct Conv1dOptions {
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  Padding padding = Padding::same;  // explicit: left and right
  std::int64_t groups = 1;
  DataFormat data_format = DataFormat::channels_last;
};

// x is [batch, length, channels], or [batch, channels, length] with channels_first; the filter is [length, channels
// in / groups, channels out] in both cases.
Tensor conv1d(const Operand& x, const Operand& filter, const Conv1dOptions& options = {}, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
