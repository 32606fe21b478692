#include "belfry/ops/gelu.h"

#include <numbers>

#include "belfry/graph/graph.h"
#include "belfry/ops/internal/pointwise_def.h"
#include "belfry/ops/pointwise.h"

namespace belfry {
namespace {

using T = const Tensor&;
using enum Elements;

const OpRegistration erf_def = define_unary("Erf", floats, "The error function.", [](T dy, T x, T) {
  return dy * exp(-square(x)) * (2 * std::numbers::inv_sqrtpi);
});

// dx = dy (P(x) + x p(x)), where p is the density of the standard normal distribution and P its integral. A separate
// op, so that the engine can compute it together with gelu.
Tensor gelu_grad(T dy, T x);
const OpRegistration gelu_def =
    define_unary("Gelu", floats, "x (1 + erf(x / sqrt(2))) / 2", [](T dy, T x, T) { return gelu_grad(dy, x); });
const OpRegistration gelu_grad_def =
    define_op("GeluGrad")
        .input("dy")
        .input("x")
        .output("dx")
        .shape([](const ShapeContext& c) {
          check_one_float_type(c);
          return merge(c.input(0), c.input(1));
        })
        // The second derivative is p(x) (2 - x^2).
        .gradient([](const GradientContext& c) {
          const Tensor dy = c.input(0), x = c.input(1), g = c.grad(), squared = square(x);
          const Tensor density = exp(squared * -0.5f) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
          return Tensors{gelu_grad(g, x), g * dy * density * (2.f - squared)};
        })
        .doc("The gradient of Gelu.");
Tensor gelu_grad(T dy, T x) { return add_tensor(gelu_grad_def, {dy, x}); }

}  // namespace

Tensor erf(const Operand& x, std::string_view name) { return add_tensor(erf_def, {x}, {.name = name}); }
Tensor gelu(const Operand& x, std::string_view name) { return add_tensor(gelu_def, {x}, {.name = name}); }

}  // namespace belfry
