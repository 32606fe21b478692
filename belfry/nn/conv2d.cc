#include "belfry/nn/internal/conv_layer_parts.h"
#include "belfry/nn/layers.h"
#include "belfry/ops/conv.h"

namespace belfry {
namespace {

Tensor apply(const Conv2dLayerOptions& o, const Tensor& x) {
  const std::int64_t channels = image_channels("conv2d", x, o.data_format);
  check_filters("conv2d", o.filters);
  check_kernel("conv2d", o.kernel);
  check_groups("conv2d", o.groups, channels, o.filters);
  const Variable w = get_variable("W", {.shape = {o.kernel.height, o.kernel.width, channels / o.groups, o.filters},
                                        .dtype = x.dtype(),
                                        .initializer = o.kernel_initializer,
                                        .regularizer = o.kernel_regularizer});
  const ConvEnd end{o.use_bias, o.activation, o.bias_initializer, o.bias_regularizer, o.data_format};
  const Tensor y = conv2d(x, w,
                          Conv2dOptions{.strides = o.strides,
                                        .dilations = o.dilations,
                                        .padding = o.padding,
                                        .groups = o.groups,
                                        .data_format = o.data_format},
                          end.conv_name());
  return end.apply(y, o.filters);
}

}  // namespace

Layer make_layer(std::string_view name, const Conv2dLayerOptions& options, const Location& where) {
  return Layer(name, [options](const Tensor& x) { return apply(options, x); }, where);
}

}  // namespace belfry
