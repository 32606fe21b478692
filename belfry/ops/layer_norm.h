// Normalisation of each example by its own mean and variance.
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

struct LayerNormOptions {
  double epsilon = 1e-5;
};

// (x - mean) / sqrt(variance + epsilon) * gamma + beta, where mean and (biased) variance are taken over the last axes
// of x: as many as gamma and beta have, whose shape is that of these axes.
Tensor layer_norm(const Operand& x, const Operand& gamma, const Operand& beta, const LayerNormOptions& options = {},
                  std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
