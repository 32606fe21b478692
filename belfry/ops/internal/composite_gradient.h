// Gradients of an op that could also be written with simpler ones. An op and its gradient that have their own kernels
// need no third kernel for second order: the simpler ops are enough there. Internal to ops.
#pragma once

#include <functional>

#include "belfry/graph/tensor.h"

namespace belfry {

using Composite = std::function<Tensor(const Tensors& inputs)>;

// The gradients of composite(inputs) for dy, one per input, built of simple ops.
Tensors composite_gradients(const Composite& composite, const Tensors& inputs, const Tensor& dy);

// The gradients of those gradients: `grads` are what arrived at them, empty where nothing did. Gives one for each
// input, then the one of dy.
Tensors composite_second_gradients(const Composite& composite, const Tensors& inputs, const Tensor& dy,
                                   const Tensors& grads);

}  // namespace belfry
