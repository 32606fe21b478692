#include "belfry/base/check.h"
#include "belfry/nn/initializers.h"
#include "belfry/nn/internal/layer_checks.h"
#include "belfry/nn/layers.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/matmul.h"

namespace belfry {
namespace {

Tensor flattened(const char* kind, const Tensor& x, std::string_view name) {
  BELFRY_CHECK(x.rank() >= 2, "{} expected a batch of rank 2 or more, got '{}' {} {}", layer_title(kind), x.name(),
               to_string(x.shape()), layer_line());
  for (int axis = 1; axis < x.rank(); ++axis) known_size(kind, x, axis, "features");
  return batch_flatten(x, name);
}

Tensor apply(const FullyConnectedOptions& o, const Tensor& input) {
  check_float("fully_connected", input, "float features");
  BELFRY_CHECK(o.units > 0, "{} expected .units above 0, got {} {}", layer_title("fully_connected"), o.units,
               layer_line());
  const Tensor x = input.rank() == 2 ? input : flattened("fully_connected", input, "");
  const Variable w = get_variable("W", {.shape = {known_size("fully_connected", x, 1, "features"), o.units},
                                        .dtype = x.dtype(),
                                        .initializer = o.kernel_initializer,
                                        .regularizer = o.kernel_regularizer});
  const std::string_view last = o.activation ? "" : "output";
  Tensor y = matmul(x, w, {}, o.use_bias ? "" : last);
  if (o.use_bias)
    y = add(y,
            get_variable("b", {.shape = {o.units},
                               .dtype = x.dtype(),
                               .initializer = o.bias_initializer ? o.bias_initializer : init::zeros(),
                               .regularizer = o.bias_regularizer}),
            last);
  return o.activation ? o.activation(y, "output") : y;
}

}  // namespace

Layer make_layer(std::string_view name, const FullyConnectedOptions& options, const Location& where) {
  return Layer(name, [options](const Tensor& x) { return apply(options, x); }, where);
}

Layer flatten(std::string_view name, const Location& where) {
  return Layer(name, [](const Tensor& x) { return flattened("flatten", x, "output"); }, where);
}

}  // namespace belfry
