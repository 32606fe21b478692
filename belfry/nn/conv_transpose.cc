#include "belfry/ops/conv_transpose.h"

#include "belfry/nn/conv_layers.h"
#include "belfry/nn/internal/conv_layer_parts.h"

namespace belfry {
namespace {

Tensor apply(const Conv2dTransposeLayerOptions& o, const Tensor& x) {
  const std::int64_t channels = image_channels("conv2d_transpose", x, o.data_format);
  check_filters("conv2d_transpose", o.filters);
  check_kernel("conv2d_transpose", o.kernel);
  check_groups("conv2d_transpose", o.groups, channels, o.filters);
  const Variable w = get_variable("W", {.shape = {o.kernel.height, o.kernel.width, o.filters / o.groups, channels},
                                        .dtype = x.dtype(),
                                        .initializer = o.kernel_initializer,
                                        .regularizer = o.kernel_regularizer});
  const ConvEnd end{o.use_bias, o.activation, o.bias_initializer, o.bias_regularizer, o.data_format};
  const Tensor y = conv2d_transpose(x, w,
                                    Conv2dTransposeOptions{.strides = o.strides,
                                                           .dilations = o.dilations,
                                                           .padding = o.padding,
                                                           .groups = o.groups,
                                                           .data_format = o.data_format,
                                                           .output_size = o.output_size},
                                    end.conv_name());
  return end.apply(y, o.filters);
}

}  // namespace

Layer make_layer(std::string_view name, const Conv2dTransposeLayerOptions& options, const Location& where) {
  return Layer(name, [options](const Tensor& x) { return apply(options, x); }, where);
}

}  // namespace belfry
