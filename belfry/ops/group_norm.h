// Normalisation within one example: nothing depends on the rest of the batch, and training does not differ from
// inference.
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"
#include "belfry/ops/window.h"

#pragma GCC visibility push(default)
namespace belfry {

struct GroupNormOptions {
  std::int64_t groups = 32;  // of adjacent channels; divides their number
  double epsilon = 1e-5;
  DataFormat data_format = DataFormat::nhwc;
};
struct InstanceNormOptions {
  double epsilon = 1e-5;
  DataFormat data_format = DataFormat::nhwc;
};

// (x - mean) / sqrt(variance + epsilon) * gamma + beta, with the mean and the (biased) variance over everything in one
// group of one example. x [batch, ..., channels], or [batch, channels, ...]; gamma and beta [channels].
Tensor group_norm(const Operand& x, const Operand& gamma, const Operand& beta, const GroupNormOptions& options = {},
                  std::string_view name = "");
// Every channel is a group.
Tensor instance_norm(const Operand& x, const Operand& gamma, const Operand& beta,
                     const InstanceNormOptions& options = {}, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
