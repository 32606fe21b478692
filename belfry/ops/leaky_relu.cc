#include "belfry/ops/leaky_relu.h"

#include <cmath>

#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/internal/input_checks.h"

namespace belfry {
namespace {

using T = const Tensor&;

Tensor leaky_relu_grad(T dy, T y, double alpha);
double alpha_of(const Attributes& attributes) { return attributes.get<double>("alpha"); }

const OpRegistration leaky_relu_op =
    define_op("LeakyRelu")
        .input("x")
        .output("y")
        .shape([](const ShapeContext& c) {
          check_elements(c, 0, Elements::floats);
          BELFRY_CHECK(std::isfinite(alpha_of(c.attributes())), "expected a finite alpha, got {}",
                       alpha_of(c.attributes()));
          return c.input(0);
        })
        // y has x's sign unless alpha is below 0, and then x need not be kept.
        .gradient([](const GradientContext& c) {
          const double alpha = alpha_of(c.attributes());
          return Tensors{leaky_relu_grad(c.grad(), alpha >= 0 ? c.output() : c.input(0), alpha)};
        })
        .doc("x above 0, else alpha * x");

// dx = y > 0 ? dy : alpha dy. A separate op, so that the engine can put it into a neighbour's pass over memory.
const OpRegistration leaky_relu_grad_op =
    define_op("LeakyReluGrad")
        .input("dy")
        .input("y")
        .output("dx")
        .shape([](const ShapeContext& c) {
          check_one_float_type(c);
          return merge(c.input(0), c.input(1));
        })
        .gradient([](const GradientContext& c) {
          return Tensors{leaky_relu_grad(c.grad(), c.input(1), alpha_of(c.attributes())), Tensor()};
        })
        .doc("The gradient of LeakyRelu: dy where y is above 0, else alpha * dy.");

Tensor leaky_relu_grad(T dy, T y, double alpha) {
  return add_tensor(leaky_relu_grad_op, {dy, y}, {.attributes = {{"alpha", alpha}}});
}

}  // namespace

Tensor LeakyRelu::operator()(const Operand& x, double slope, std::string_view name) const {
  return add_tensor(leaky_relu_op, {x}, {.name = name, .attributes = {{"alpha", slope}}});
}

}  // namespace belfry
