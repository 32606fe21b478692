// Activations beyond relu, tanh and sigmoid (pointwise.h). Each can be given to a layer: {.activation = elu}.
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

Tensor softplus(const Operand& x, std::string_view name = "");  // log(1 + e^x)
Tensor elu(const Operand& x, std::string_view name = "");       // x above 0, else e^x - 1
Tensor selu(const Operand& x, std::string_view name = "");      // scale * (x above 0, else alpha (e^x - 1))
Tensor swish(const Operand& x, std::string_view name = "");     // x sigmoid(x)
// x above 0, else slope * x. The slope broadcasts: one number, or one per channel along the last axis.
Tensor prelu(const Operand& x, const Operand& slope, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
