// Optimizers for large batches that adapt the rate of each variable to the ratio of its norm to that of its update:
// LARS and LAMB. ops/layerwise_optimizers.h has the rules, and optimizer.h describes slots. For a table whose gradient
// is sparse, the norms are over the rows that were looked up.
#pragma once

#include "belfry/nn/optimizer.h"

#pragma GCC visibility push(default)
namespace belfry {

// The biases and the parameters of normalisations, by the names that layers give them: small vectors that are usually
// excluded from weight decay and from the adapted rate.
inline constexpr const char* kBiasesAndNorms = "(.*/)?(b|b_h|gamma|beta)";

struct LarsOptions {
  Operand learning_rate;
  double momentum = 0.9;
  double trust_coefficient = 1e-3;
  double weight_decay = 1e-4;
  double epsilon = 1e-8;
  // Variables whose whole name matches have only momentum: neither an adapted rate nor weight decay. "" excludes none.
  std::string exclude = kBiasesAndNorms;
};
// Slot "accumulator". The learning rate is part of it, as in the paper: a lower rate affects only new gradients.
std::unique_ptr<Optimizer> lars(LarsOptions options, const Location& where = Location::current());

struct LambOptions {
  Operand learning_rate = 1e-3f;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  double weight_decay = 0.01;
  // Variables whose whole name matches are updated as by Adam: neither an adapted rate nor weight decay. "" excludes
  // none.
  std::string exclude = kBiasesAndNorms;
};
// Slots "m" and "v", and "LAMB/step" like Adam's.
std::unique_ptr<Optimizer> lamb(LambOptions options = {}, const Location& where = Location::current());

}  // namespace belfry
#pragma GCC visibility pop
