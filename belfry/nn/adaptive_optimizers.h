// Optimizers that adapt the rate of each element to the squares of its gradients: PyTorch's RMSprop, Adagrad, Adadelta.
// ops/adaptive_optimizers.h has the rules, and optimizer.h describes slots.
#pragma once

#include "belfry/nn/optimizer.h"

#pragma GCC visibility push(default)
namespace belfry {

struct RmsPropOptions {
  Operand learning_rate = 1e-2f;
  double alpha = 0.99;  // how much of the mean square is kept
  double epsilon = 1e-8;
  double momentum = 0;
  bool centered = false;  // divide by an estimate of the deviation instead of the root of the mean square
  double weight_decay = 0;
};
// Slots "mean_square", when centered "mean_gradient", with momentum "accumulator".
std::unique_ptr<Optimizer> rmsprop(RmsPropOptions options = {}, const Location& where = Location::current());

struct AdagradOptions {
  Operand learning_rate = 1e-2f;
  double lr_decay = 0;  // update n uses the rate learning_rate / (1 + (n - 1) lr_decay)
  double initial_accumulator_value = 0;
  double epsilon = 1e-10;
  double weight_decay = 0;
};
// Slot "sum", initial_accumulator_value at first. With lr_decay a variable "Adagrad/step" counts updates.
std::unique_ptr<Optimizer> adagrad(AdagradOptions options = {}, const Location& where = Location::current());

struct AdadeltaOptions {
  Operand learning_rate = 1.f;
  double rho = 0.9;  // how much of the mean squares is kept
  double epsilon = 1e-6;
  double weight_decay = 0;
};
// Slots "mean_square" and "mean_square_delta".
std::unique_ptr<Optimizer> adadelta(AdadeltaOptions options = {}, const Location& where = Location::current());

}  // namespace belfry
#pragma GCC visibility pop
