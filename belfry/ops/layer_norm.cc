#include "belfry/ops/layer_norm.h"

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/broadcast.h"
#include "belfry/ops/internal/composite_gradient.h"
#include "belfry/ops/internal/input_checks.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"

namespace belfry {
namespace {

// The shape of x without the normalised axes, which are those of input `gamma`.
Shape rows_rule(const ShapeContext& c, const Shape& x, int gamma) {
  check_one_float_type(c);
  const Shape& scale = c.input(gamma);
  const double epsilon = c.attributes().get<double>("epsilon");
  BELFRY_CHECK(epsilon >= 0, "expected epsilon of 0 or more, got {}", epsilon);
  BELFRY_CHECK(
      scale.rank() >= 1 && scale.rank() <= x.rank() && compatible(x.slice(x.rank() - scale.rank(), x.rank()), scale),
      "expected gamma and beta of the shape of the last axes of {}, got {}", to_string(x), to_string(scale));
  return x.slice(0, x.rank() - scale.rank());
}

Ints last_axes(int count) {
  Ints out;
  for (int i = -count; i < 0; ++i) out.push_back(i);
  return out;
}

// Without beta, of {x, gamma}.
Composite composite(const Attributes& attributes) {
  return [epsilon = attributes.get<double>("epsilon")](const Tensors& in) {
    const ReduceOptions over{.axes = last_axes(in[1].rank()), .keep_dims = true};
    const Tensor centred = in[0] - reduce_mean(in[0], over);
    return centred * rsqrt(reduce_mean(square(centred), over) + epsilon) * in[1];
  };
}

Tensors layer_norm_grad(const GradientContext& c);

const OpRegistration layer_norm_def =
    define_op("LayerNorm")
        .input("x")
        .input("gamma")
        .input("beta")
        .output("y")
        .output("mean")
        .output("rstd")
        .shape([](const ShapeContext& c) {
          const Shape rows = rows_rule(c, c.input(0), 1);
          check_shape(c, 2, "beta", c.input(1));
          return Shapes{c.input(0), rows, rows};
        })
        // Only y has a gradient: mean and rstd are only for LayerNormGrad.
        .gradient(layer_norm_grad)
        .doc("Normalises over the last axes, scales by gamma, adds beta; the statistics are outputs 1 and 2.");

// With xhat = (x - mean) rstd, g = dy gamma, E = the mean over the normalised axes:
//   dx = rstd (g - E[g] - xhat E[g xhat]),  dgamma = sum(dy xhat),  dbeta = sum(dy)
// mean and rstd are functions of x, to which gradients with respect to them go.
const OpRegistration layer_norm_grad_def = define_op("LayerNormGrad")
                                               .input("dy")
                                               .input("x")
                                               .input("gamma")
                                               .input("mean")
                                               .input("rstd")
                                               .output("dx")
                                               .output("dgamma")
                                               .output("dbeta")
                                               .shape([](const ShapeContext& c) {
                                                 check_shape(c, 0, "dy", c.input(1));
                                                 const Shape rows = rows_rule(c, c.input(1), 2);
                                                 check_shape(c, 3, "mean", rows);
                                                 check_shape(c, 4, "rstd", rows);
                                                 return Shapes{merge(c.input(0), c.input(1)), c.input(2), c.input(2)};
                                               })
                                               .gradient([](const GradientContext& c) {
                                                 const Tensor dy = c.input(0);
                                                 const Tensors grads{c.grad(0), c.grad(1)};
                                                 Tensors out(5);
                                                 if (c.has_grad(0) || c.has_grad(1)) {
                                                   const Tensors inner = composite_second_gradients(
                                                       composite(c.attributes()), {c.input(1), c.input(2)}, dy, grads);
                                                   out = {inner[2], inner[0], inner[1], Tensor(), Tensor()};
                                                 }
                                                 if (c.has_grad(2)) {
                                                   const Tensor sums = broadcast_like(c.grad(2), dy);
                                                   out[0] = out[0] ? out[0] + sums : sums;
                                                 }
                                                 return out;
                                               })
                                               .doc("The gradient of LayerNorm with respect to x, gamma and beta.");

Tensors layer_norm_grad(const GradientContext& c) {
  if (!c.has_grad(0)) return Tensors(3);
  Node* node = add_op(layer_norm_grad_def, {c.grad(0), c.input(0), c.input(1), c.output(1), c.output(2)},
                      {.attributes = c.attributes()});
  return {node->output(0), node->output(1), node->output(2)};
}

}  // namespace

Tensor layer_norm(const Operand& x, const Operand& gamma, const Operand& beta, const LayerNormOptions& options,
                  std::string_view name) {
  return add_tensor(layer_norm_def, {x, gamma, beta}, {.name = name, .attributes = {{"epsilon", options.epsilon}}});
}

}  // namespace belfry
