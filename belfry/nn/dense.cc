// Layers that work on every vector along the last axis: dense and layer norm.
#include "belfry/base/check.h"
#include "belfry/nn/attention.h"
#include "belfry/nn/initializers.h"
#include "belfry/nn/internal/layer_checks.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/layer_norm.h"
#include "belfry/ops/matmul.h"

namespace belfry {
namespace {

Tensor apply(const DenseOptions& o, const Tensor& x) {
  BELFRY_CHECK(o.units > 0, "{} expected .units above 0, got {} {}", layer_title("dense"), o.units, layer_line());
  BELFRY_CHECK(x.rank() >= 2, "{} expected vectors (rank 2 or more), got '{}' {} {}", layer_title("dense"), x.name(),
               to_string(x.shape()), layer_line());
  const Variable w = get_variable("W", {.shape = {known_size("dense", x, x.rank() - 1, "features"), o.units},
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

Tensor parameter(bool has, const char* name, const Tensor& x, const Initializer& given, const Regularizer& regularizer,
                 double otherwise) {
  const Shape shape{known_size("layer_norm", x, x.rank() - 1, "features")};
  if (!has) return fill(shape, otherwise, x.dtype());
  return Tensor(get_variable(name, {.shape = shape,
                                    .dtype = x.dtype(),
                                    .initializer = given ? given : init::constant(otherwise),
                                    .regularizer = regularizer}));
}

Tensor apply(const LayerNormLayerOptions& o, const Tensor& x) {
  BELFRY_CHECK(x.rank() >= 1, "{} expected vectors (rank 1 or more), got '{}' {} {}", layer_title("layer_norm"),
               x.name(), to_string(x.shape()), layer_line());
  const Tensor gamma = parameter(o.scale, "gamma", x, o.gamma_initializer, o.gamma_regularizer, 1);
  const Tensor beta = parameter(o.center, "beta", x, o.beta_initializer, o.beta_regularizer, 0);
  return layer_norm(x, gamma, beta, {.epsilon = o.epsilon}, "output");
}

}  // namespace

Layer make_layer(std::string_view name, const DenseOptions& options, const Location& where) {
  return Layer(name, [options](const Tensor& x) { return apply(options, x); }, where);
}
Layer make_layer(std::string_view name, const LayerNormLayerOptions& options, const Location& where) {
  return Layer(name, [options](const Tensor& x) { return apply(options, x); }, where);
}

}  // namespace belfry
