// Two-dimensional convolution (cross-correlation, as in every such library).
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"
#include "belfry/ops/window.h"

#pragma GCC visibility push(default)
namespace belfry {

struct Conv2dOptions {
  Extent strides = 1;
  Extent dilations = 1;
  Padding padding = Padding::same;
  std::int64_t groups = 1;
  DataFormat data_format = DataFormat::nhwc;
};

// The filter is [height, width, channels in / groups, channels out], whatever the data format.
Tensor conv2d(const Operand& x, const Operand& filter, const Conv2dOptions& options = {}, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
