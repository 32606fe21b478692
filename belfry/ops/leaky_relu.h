// Leaky relu: x above 0, else alpha * x. A function object, so that a layer can take it:
//
//   x | conv2d("conv", {.filters = 64, .activation = leaky_relu})    alpha is 0.2, as in TensorFlow
//   leaky_relu(x, 0.1)
//   x | conv2d("conv", {.filters = 64, .activation = LeakyRelu{0.1}})
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

struct LeakyRelu {
  double alpha = 0.2;
  Tensor operator()(const Operand& x, std::string_view name = "") const { return (*this)(x, alpha, name); }
  Tensor operator()(const Operand& x, double alpha, std::string_view name = "") const;
};
inline constexpr LeakyRelu leaky_relu{};

}  // namespace belfry
#pragma GCC visibility pop
