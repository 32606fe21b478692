// Gradients, graph to graph: new ops that compute the derivative of `ys` with respect to `xs`. Since they are ordinary
// ops, a gradient has a gradient.
#pragma once

#include <functional>
#include <initializer_list>
#include <vector>

#include "belfry/graph/op_def.h"
#include "belfry/graph/variable.h"

#pragma GCC visibility push(default)
namespace belfry {

struct GradientOptions {
  Tensors grad_ys{};  // the gradient of each y, of its shape and type; ones if not given or empty
  Tensors stop{};     // tensors that gradients do not flow through
};

// d(sum of ys)/dx for each x; an empty Tensor where no y depends on the x through differentiable ops.
Tensors gradients(const Tensors& ys, const Tensors& xs, const GradientOptions& options = {},
                  const Location& where = Location::current());
Tensors gradients(const Tensor& y, const Tensors& xs, const GradientOptions& options = {},
                  const Location& where = Location::current());
Tensors gradients(const Tensor& y, const std::vector<Variable>& xs, const GradientOptions& options = {},
                  const Location& where = Location::current());
// So that xs may be a braced list of tensors or of variables.
inline Tensors gradients(const Tensor& y, std::initializer_list<Tensor> xs, const GradientOptions& options = {},
                         const Location& where = Location::current()) {
  return gradients(y, Tensors(xs), options, where);
}
inline Tensors gradients(const Tensor& y, std::initializer_list<Variable> xs, const GradientOptions& options = {},
                         const Location& where = Location::current()) {
  return gradients(y, std::vector<Variable>(xs), options, where);
}

// forward(inputs) with another gradient: `backward(inputs, outputs, output gradients)` gives one tensor per input.
using ForwardFunction = std::function<Tensors(const Tensors& inputs)>;
using BackwardFunction = std::function<Tensors(const Tensors& inputs, const Tensors& outputs, const Tensors& grads)>;
Tensors custom_gradient(const Tensors& inputs, const ForwardFunction& forward, BackwardFunction backward);

}  // namespace belfry
#pragma GCC visibility pop
