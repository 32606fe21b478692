#include "belfry/ops/conv1d.h"

#include "belfry/nn/conv_layers.h"
#include "belfry/nn/internal/conv_layer_parts.h"
#include "belfry/nn/internal/layer_checks.h"

namespace belfry {
namespace {

Tensor apply(const Conv1dLayerOptions& o, const Tensor& x) {
  check_rank("conv1d", x, 3,
             o.data_format == DataFormat::channels_last ? "sequences [batch, length, channels]"
                                                        : "sequences [batch, channels, length]");
  const std::int64_t channels = known_size("conv1d", x, channel_axis(o.data_format, 3), "channels");
  check_filters("conv1d", o.filters);
  check_kernel("conv1d", {1, o.kernel});
  check_groups("conv1d", o.groups, channels, o.filters);
  const Variable w = get_variable("W", {.shape = {o.kernel, channels / o.groups, o.filters},
                                        .dtype = x.dtype(),
                                        .initializer = o.kernel_initializer,
                                        .regularizer = o.kernel_regularizer});
  const ConvEnd end{o.use_bias, o.activation, o.bias_initializer, o.bias_regularizer, o.data_format};
  const Tensor y = conv1d(x, w,
                          Conv1dOptions{.stride = o.stride,
                                        .dilation = o.dilation,
                                        .padding = o.padding,
                                        .groups = o.groups,
                                        .data_format = o.data_format},
                          end.conv_name());
  return end.apply(y, o.filters);
}

}  // namespace

Layer make_layer(std::string_view name, const Conv1dLayerOptions& options, const Location& where) {
  return Layer(name, [options](const Tensor& x) { return apply(options, x); }, where);
}

}  // namespace belfry
