#include "belfry/nn/prelu.h"

#include "belfry/base/check.h"
#include "belfry/nn/initializers.h"
#include "belfry/nn/internal/layer_checks.h"
#include "belfry/ops/activation.h"
#include "belfry/ops/array_ops.h"

namespace belfry {
namespace {

Tensor apply(const PreluOptions& o, const Tensor& x) {
  BELFRY_CHECK(o.shared || x.rank() >= 2, "{} expected a batch of rank 2 or more, got '{}' {} {}", layer_title("prelu"),
               x.name(), to_string(x.shape()), layer_line());
  const int axis = channel_axis(o.data_format, x.rank());
  const Shape shape = o.shared ? Shape{} : Shape{known_size("prelu", x, axis, "channels")};
  Tensor alpha = get_variable("alpha", {.shape = shape,
                                        .dtype = x.dtype(),
                                        .initializer = o.initializer ? o.initializer : init::constant(0.25),
                                        .regularizer = o.regularizer});
  if (!o.shared && axis != x.rank() - 1) {  // channels first: alpha is repeated along the axes after them
    Shape column = shape;
    for (int i = axis + 1; i < x.rank(); ++i) column.push_back(1);
    alpha = reshape(alpha, column);
  }
  return prelu(x, alpha, "output");
}

}  // namespace

Layer make_layer(std::string_view name, const PreluOptions& options, const Location& where) {
  return Layer(name, [options](const Tensor& x) { return apply(options, x); }, where);
}

}  // namespace belfry
