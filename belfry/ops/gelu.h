// The error function and the activation made of it.
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

Tensor erf(const Operand& x, std::string_view name = "");  // 2 / sqrt(pi) * integral of exp(-t^2) from 0 to x
// x times the share of a standard normal distribution below x: x (1 + erf(x / sqrt(2))) / 2. {.activation = gelu}
Tensor gelu(const Operand& x, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
