// Transposed convolution: the gradient of conv2d with respect to its images, as an op of its own. Also called
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
  Padding padding = Padding::same;  // of the convolution that would lead back: explicit padding makes y smaller
  std::int64_t groups = 1;
  DataFormat data_format = DataFormat::nhwc;
  // Height and width of y. Several sizes lead back to the same x; not given it is, with reach = the window with its
  // dilation, for same x * stride, for valid x * stride + max(reach - stride, 0) (TensorFlow's rules), and for explicit
  // padding (x - 1) * stride + reach - padding (PyTorch's, whose output_padding is what a given size has more).
  std::optional<Extent> output_size{};
};

// The filter is that of the convolution that leads back: [height, width, channels of y / groups, channels of x].
Tensor conv2d_transpose(const Operand& x, const Operand& filter, const Conv2dTransposeOptions& options = {},
                        std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
