#include "belfry/base/check.h"
#include "belfry/nn/initializers.h"
#include "belfry/nn/layer_checks.h"
#include "belfry/nn/layers.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/conv.h"

namespace belfry {
namespace {

void check_options(const Conv2dLayerOptions& o, std::int64_t channels) {
  BELFRY_CHECK(o.filters > 0, "{} expected .filters above 0, got {} {}", layer_title("conv2d"), o.filters,
               layer_line());
  BELFRY_CHECK(o.kernel.height > 0 && o.kernel.width > 0,
               "{} expected a kernel of 1 or more in both directions, got {} x {} {}", layer_title("conv2d"),
               o.kernel.height, o.kernel.width, layer_line());
  BELFRY_CHECK(o.groups > 0 && channels % o.groups == 0 && o.filters % o.groups == 0,
               "{} expected .groups that divides both channels and filters, got {} groups, {} channels, {} filters {}",
               layer_title("conv2d"), o.groups, channels, o.filters, layer_line());
}

Tensor apply(const Conv2dLayerOptions& o, const Tensor& x) {
  check_float("conv2d", x, "a float image");
  check_rank("conv2d", x, 4,
             o.data_format == DataFormat::nhwc ? "images [batch, height, width, channels]"
                                               : "images [batch, channels, height, width]");
  const std::int64_t channels = known_size("conv2d", x, channel_axis(o.data_format, 4), "channels");
  check_options(o, channels);
  const Variable w = get_variable("W", {.shape = {o.kernel.height, o.kernel.width, channels / o.groups, o.filters},
                                        .dtype = x.dtype(),
                                        .initializer = o.kernel_initializer,
                                        .regularizer = o.kernel_regularizer});
  const Conv2dOptions conv{.strides = o.strides,
                           .dilations = o.dilations,
                           .padding = o.padding,
                           .groups = o.groups,
                           .data_format = o.data_format};
  // The last op carries the layer's name.
  const std::string_view last = o.activation ? "" : "output";
  Tensor y = conv2d(x, w, conv, o.use_bias ? "" : last);
  if (o.use_bias) {
    const Variable b = get_variable("b", {.shape = {o.filters},
                                          .dtype = x.dtype(),
                                          .initializer = o.bias_initializer ? o.bias_initializer : init::zeros()});
    y = add(y, o.data_format == DataFormat::nhwc ? Tensor(b) : reshape(b, {o.filters, 1, 1}), last);
  }
  return o.activation ? o.activation(y, "output") : y;
}

}  // namespace

Layer make_layer(std::string_view name, const Conv2dLayerOptions& options, const Location& where) {
  return Layer(name, [options](const Tensor& x) { return apply(options, x); }, where);
}

}  // namespace belfry
