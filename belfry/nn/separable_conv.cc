// Depthwise convolutions, alone and followed by a 1 x 1 convolution.
#include "belfry/base/check.h"
#include "belfry/nn/conv_layers.h"
#include "belfry/nn/internal/conv_layer_parts.h"
#include "belfry/nn/internal/layer_checks.h"
#include "belfry/ops/conv.h"

namespace belfry {
namespace {

// The depthwise part of either layer. Its variable is called `w`.
template <class Options>
Tensor depthwise(const char* kind, const Options& o, const Tensor& x, std::string_view w,
                 const Initializer& initializer, const Regularizer& regularizer, std::string_view name) {
  const std::int64_t channels = image_channels(kind, x, o.data_format);
  check_kernel(kind, o.kernel);
  BELFRY_CHECK(o.multiplier > 0, "{} expected .multiplier above 0, got {} {}", layer_title(kind), o.multiplier,
               layer_line());
  const Variable filter = get_variable(w, {.shape = {o.kernel.height, o.kernel.width, 1, channels * o.multiplier},
                                           .dtype = x.dtype(),
                                           .initializer = initializer,
                                           .regularizer = regularizer});
  return conv2d(x, filter,
                Conv2dOptions{.strides = o.strides,
                              .dilations = o.dilations,
                              .padding = o.padding,
                              .groups = channels,
                              .data_format = o.data_format},
                name);
}

Tensor apply(const DepthwiseConv2dLayerOptions& o, const Tensor& x) {
  const ConvEnd end{o.use_bias, o.activation, o.bias_initializer, o.bias_regularizer, o.data_format};
  const Tensor y =
      depthwise("depthwise_conv2d", o, x, "W", o.kernel_initializer, o.kernel_regularizer, end.conv_name());
  return end.apply(y, y.shape()[channel_axis(o.data_format, 4)]);
}

Tensor apply(const SeparableConv2dLayerOptions& o, const Tensor& x) {
  check_filters("separable_conv2d", o.filters);
  const Tensor each =
      depthwise("separable_conv2d", o, x, "depthwise/W", o.depthwise_initializer, o.depthwise_regularizer, "");
  const Variable w =
      get_variable("pointwise/W", {.shape = {1, 1, each.shape()[channel_axis(o.data_format, 4)], o.filters},
                                   .dtype = x.dtype(),
                                   .initializer = o.pointwise_initializer,
                                   .regularizer = o.pointwise_regularizer});
  const ConvEnd end{o.use_bias, o.activation, o.bias_initializer, o.bias_regularizer, o.data_format};
  return end.apply(conv2d(each, w, Conv2dOptions{.data_format = o.data_format}, end.conv_name()), o.filters);
}

}  // namespace

Layer make_layer(std::string_view name, const DepthwiseConv2dLayerOptions& options, const Location& where) {
  return Layer(name, [options](const Tensor& x) { return apply(options, x); }, where);
}

Layer make_layer(std::string_view name, const SeparableConv2dLayerOptions& options, const Location& where) {
  return Layer(name, [options](const Tensor& x) { return apply(options, x); }, where);
}

}  // namespace belfry
