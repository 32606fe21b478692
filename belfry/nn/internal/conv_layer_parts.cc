#include "belfry/nn/internal/conv_layer_parts.h"

#include "belfry/base/check.h"
#include "belfry/nn/initializers.h"
#include "belfry/nn/internal/layer_checks.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/pointwise.h"

namespace belfry {

std::int64_t image_channels(const char* kind, const Tensor& x, DataFormat format) {
  check_float(kind, x, "a float image");
  check_rank(kind, x, 4,
             format == DataFormat::nhwc ? "images [batch, height, width, channels]"
                                        : "images [batch, channels, height, width]");
  return known_size(kind, x, channel_axis(format, 4), "channels");
}

void check_filters(const char* kind, std::int64_t filters) {
  BELFRY_CHECK(filters > 0, "{} expected .filters above 0, got {} {}", layer_title(kind), filters, layer_line());
}

void check_kernel(const char* kind, Extent kernel) {
  BELFRY_CHECK(kernel.height > 0 && kernel.width > 0,
               "{} expected a kernel of 1 or more in both directions, got {} x {} {}", layer_title(kind), kernel.height,
               kernel.width, layer_line());
}

void check_groups(const char* kind, std::int64_t groups, std::int64_t channels, std::int64_t filters) {
  BELFRY_CHECK(groups > 0 && channels % groups == 0 && filters % groups == 0,
               "{} expected .groups that divides both channels and filters, got {} groups, {} channels, {} filters {}",
               layer_title(kind), groups, channels, filters, layer_line());
}

Tensor ConvEnd::apply(Tensor y, std::int64_t filters) const {
  if (use_bias) {
    const Variable b = get_variable("b", {.shape = {filters},
                                          .dtype = y.dtype(),
                                          .initializer = bias_initializer ? bias_initializer : init::zeros(),
                                          .regularizer = bias_regularizer});
    Shape channels_first{filters};
    while (channels_first.rank() < y.rank() - 1) channels_first.push_back(1);
    y = add(y, data_format == DataFormat::nhwc ? Tensor(b) : reshape(b, channels_first), activation ? "" : "output");
  }
  return activation ? activation(y, "output") : y;
}

}  // namespace belfry
