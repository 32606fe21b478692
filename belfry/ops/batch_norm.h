// Batch normalisation: y = gamma * (x - mean) / sqrt(variance + epsilon) + beta, for each channel.
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

struct BatchNormOptions {
  double epsilon = 1e-5;
  int axis = -1;  // of the channels
};

struct BatchNormResult {
  Tensor y;
  Tensor mean, variance;  // of the batch, [channels]; the variance is the biased one
};

// With the statistics of the batch itself, over all axes but the channels'. Those of an empty batch are 0.
BatchNormResult batch_norm(const Operand& x, const Operand& gamma, const Operand& beta,
                           const BatchNormOptions& options = {}, std::string_view name = "");

// With given statistics, which are inputs like others.
struct BatchNormParameters {
  Tensor gamma, beta, mean, variance;
};
Tensor batch_norm_inference(const Operand& x, const BatchNormParameters& parameters,
                            const BatchNormOptions& options = {}, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
