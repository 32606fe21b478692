#include "belfry/nn/group_norm.h"

#include "belfry/base/check.h"
#include "belfry/nn/initializers.h"
#include "belfry/nn/internal/layer_checks.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/group_norm.h"

namespace belfry {
namespace {

// The variable, or a constant in its place.
Tensor vector_or(bool wanted, const char* name, const Shape& shape, DType dtype, const Initializer& given,
                 const Regularizer& regularizer, double value) {
  if (!wanted) return constant(Array::full(dtype, shape, value));
  return get_variable(name, {.shape = shape,
                             .dtype = dtype,
                             .initializer = given ? given : init::constant(value),
                             .regularizer = regularizer});
}

// normalise(x, gamma, beta, name of the op)
template <class Options, class Normalise>
Tensor apply(const char* kind, const Options& o, const Tensor& x, Normalise normalise) {
  BELFRY_CHECK(x.rank() >= 2, "{} expected a batch of rank 2 or more, got '{}' {} {}", layer_title(kind), x.name(),
               to_string(x.shape()), layer_line());
  const Shape channels{known_size(kind, x, channel_axis(o.data_format, x.rank()), "channels")};
  const Tensor gamma = vector_or(o.scale, "gamma", channels, x.dtype(), o.gamma_initializer, o.gamma_regularizer, 1),
               beta = vector_or(o.center, "beta", channels, x.dtype(), o.beta_initializer, o.beta_regularizer, 0);
  const Tensor y = normalise(gamma, beta, o.activation ? "" : "output");
  return o.activation ? o.activation(y, "output") : y;
}

}  // namespace

Layer make_layer(std::string_view name, const GroupNormLayerOptions& o, const Location& where) {
  return Layer(
      name,
      [o](const Tensor& x) {
        return apply("group_norm", o, x, [&](const Tensor& gamma, const Tensor& beta, std::string_view last) {
          const GroupNormOptions op{.groups = o.groups, .epsilon = o.epsilon, .data_format = o.data_format};
          return group_norm(x, gamma, beta, op, last);
        });
      },
      where);
}

Layer make_layer(std::string_view name, const InstanceNormLayerOptions& o, const Location& where) {
  return Layer(
      name,
      [o](const Tensor& x) {
        return apply("instance_norm", o, x, [&](const Tensor& gamma, const Tensor& beta, std::string_view last) {
          return instance_norm(x, gamma, beta, {.epsilon = o.epsilon, .data_format = o.data_format}, last);
        });
      },
      where);
}

}  // namespace belfry
