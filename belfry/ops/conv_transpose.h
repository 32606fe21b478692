// Transposed convolution: the gradient of conv2d with respect to its images, as a separate op. Also called
// deconvolution; it makes images larger where a convolution with strides makes them smaller.
#pragma once

#include <optional>
#include <string_view>

#include "belfry/graph/tensor.h"
#include "belfry/ops/window.h"

#pragma GCC visibility push(default)
namespace belfry {

struct Conv2dTransposeOptions {
  Extent strides = 1;
  Extent dilations = 1;
  Padding padding = Padding::same;  // of the convolution from y back to x: explicit padding makes y smaller
  std::int64_t groups = 1;
  DataFormat data_format = DataFormat::nhwc;
  // Height and width of y, because a convolution maps several sizes to the same x. The default, with reach = the window
  // with its dilation, is x * stride for same, x * stride + max(reach - stride, 0) for valid (TensorFlow's rules), and
  // (x - 1) * stride + reach - padding for explicit padding (PyTorch's, whose output_padding is added to that).
  std::optional<Extent> output_size{};
};

// The filter is that of the convolution from y back to x: [height, width, channels of y / groups, channels of x].
Tensor conv2d_transpose(const Operand& x, const Operand& filter, const Conv2dTransposeOptions& options = {},
                        std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
