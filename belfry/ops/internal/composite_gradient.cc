#include "belfry/ops/internal/composite_gradient.h"

#include "belfry/graph/gradients.h"
#include "belfry/ops/basic.h"

namespace belfry {
namespace {

// Gradients are taken with respect to fresh copies: the inputs may depend on each other elsewhere in the graph.
Tensors fresh(const Tensors& tensors) {
  Tensors out;
  for (const Tensor& t : tensors) out.push_back(identity(t));
  return out;
}

}  // namespace

Tensors composite_gradients(const Composite& composite, const Tensors& inputs, const Tensor& dy) {
  const Tensors own = fresh(inputs);
  return gradients({composite(own)}, own, {.grad_ys = {dy}});
}

Tensors composite_second_gradients(const Composite& composite, const Tensors& inputs, const Tensor& dy,
                                   const Tensors& grads) {
  Tensors all = inputs;
  all.push_back(dy);
  all = fresh(all);
  const Tensors own(all.begin(), all.end() - 1);
  const Tensors first = gradients({composite(own)}, own, {.grad_ys = {all.back()}});
  Tensors ys, grad_ys;
  for (std::size_t i = 0; i < first.size() && i < grads.size(); ++i)
    if (first[i] && grads[i]) {
      ys.push_back(first[i]);
      grad_ys.push_back(grads[i]);
    }
  return gradients(ys, all, {.grad_ys = grad_ys});
}

}  // namespace belfry
