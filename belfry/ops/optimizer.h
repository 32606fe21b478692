// One update of a variable by an optimizer's rule, each a single op: one pass over memory. The rules, and the order in
// which they are computed, are those of PyTorch's SGD, Adam and AdamW. Each function gives the variable's new value.
// Weight decay adds weight_decay * w to the gradient g; decoupled decay shrinks the weight in addition to the update,
// w -= lr decoupled_decay w.
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"
#include "belfry/graph/variable.h"

#pragma GCC visibility push(default)
namespace belfry {

struct SgdUpdate {
  double weight_decay = 0;  // the same as decoupled decay here
};
struct MomentumUpdate {
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 0;
  double decoupled_decay = 0;
};
struct AdamUpdate {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  double decoupled_decay = 0;  // AdamW
};

// w -= lr g
Tensor apply_sgd(const Variable& variable, const Operand& learning_rate, const Operand& gradient,
                 const SgdUpdate& rule = {}, std::string_view name = "");
// accumulator = momentum accumulator + g;  w -= lr accumulator  (nesterov: w -= lr (g + momentum accumulator))
Tensor apply_momentum(const Variable& variable, const Variable& accumulator, const Operand& learning_rate,
                      const Operand& gradient, const MomentumUpdate& rule = {}, std::string_view name = "");

struct AdamSlots {
  Variable m, v;  // running means of the gradient and of its square, of the variable's shape and type, 0 at first
};
// `step` is the number of this update, 1 for the first.
// m += (1 - beta1) (g - m);  v = beta2 v + (1 - beta2) g^2
// w -= lr / (1 - beta1^step) m / (sqrt(v) / sqrt(1 - beta2^step) + epsilon)
Tensor apply_adam(const Variable& variable, const AdamSlots& slots, const Operand& step, const Operand& learning_rate,
                  const Operand& gradient, const AdamUpdate& rule = {}, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
