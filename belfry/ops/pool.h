// Pooling over windows of an image. The average is over the pixels of the image only: padding does not count.
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"
#include "belfry/ops/window.h"

#pragma GCC visibility push(default)
namespace belfry {

struct Pool2dOptions {
  Extent window = 2;
  Extent strides = 0;  // 0: as large as the window
  Padding padding = Padding::valid;
  DataFormat data_format = DataFormat::nhwc;
};

// Where a maximum occurs twice, the first one (row by row) gets the gradient.
Tensor max_pool2d(const Operand& x, const Pool2dOptions& options = {}, std::string_view name = "");
Tensor avg_pool2d(const Operand& x, const Pool2dOptions& options = {}, std::string_view name = "");

// The mean of each channel's pixels: [images, channels].
Tensor global_avg_pool(const Operand& x, DataFormat data_format = DataFormat::nhwc, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
