// Updates in which the rate of each element adapts to the squares of its own gradients: PyTorch's RMSprop, Adagrad and
// Adadelta. As in optimizer.h each is a single op, one pass over memory, and gives the variable's new value; g is the
// gradient plus weight_decay * w. The functions on rows read and change only those, see sparse_optimizer.h.
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"
#include "belfry/graph/variable.h"
#include "belfry/ops/sparse_rows.h"

#pragma GCC visibility push(default)
namespace belfry {

struct RmsPropUpdate {
  double alpha = 0.99;
  double epsilon = 1e-8;
  double momentum = 0;
  double weight_decay = 0;
};
// Of the variable's shape and type, 0 at first. Which ones are given selects the form.
struct RmsPropSlots {
  Variable mean_square;
  Variable mean_gradient{};  // given: centered, by an estimate of the gradient's variance
  Variable accumulator{};    // given: with momentum
};
// mean_square = alpha mean_square + (1 - alpha) g^2;  r = g / (sqrt(mean_square) + epsilon);  w -= lr r
// Centered: mean_gradient = alpha mean_gradient + (1 - alpha) g, and mean_square - mean_gradient^2 (0 if rounding
// leaves less) is under the root. With momentum: accumulator = momentum accumulator + r;  w -= lr accumulator
Tensor apply_rmsprop(const Variable& variable, const RmsPropSlots& slots, const Operand& learning_rate,
                     const Operand& gradient, const RmsPropUpdate& rule = {}, std::string_view name = "");
Tensor apply_rmsprop_rows(const Variable& variable, const RmsPropSlots& slots, const Operand& learning_rate,
                          const SparseRows& gradient, const RmsPropUpdate& rule = {}, std::string_view name = "");

struct AdagradUpdate {
  double epsilon = 1e-10;
  double weight_decay = 0;
};
// sum += g^2;  w -= lr g / (sqrt(sum) + epsilon)
Tensor apply_adagrad(const Variable& variable, const Variable& sum, const Operand& learning_rate,
                     const Operand& gradient, const AdagradUpdate& rule = {}, std::string_view name = "");
Tensor apply_adagrad_rows(const Variable& variable, const Variable& sum, const Operand& learning_rate,
                          const SparseRows& gradient, const AdagradUpdate& rule = {}, std::string_view name = "");

struct AdadeltaUpdate {
  double rho = 0.9;
  double epsilon = 1e-6;
  double weight_decay = 0;
};
struct AdadeltaSlots {
  Variable mean_square, mean_square_delta;  // 0 at first
};
// mean_square = rho mean_square + (1 - rho) g^2
// delta = g sqrt(mean_square_delta + epsilon) / sqrt(mean_square + epsilon);  w -= lr delta
// mean_square_delta = rho mean_square_delta + (1 - rho) delta^2
Tensor apply_adadelta(const Variable& variable, const AdadeltaSlots& slots, const Operand& learning_rate,
                      const Operand& gradient, const AdadeltaUpdate& rule = {}, std::string_view name = "");
Tensor apply_adadelta_rows(const Variable& variable, const AdadeltaSlots& slots, const Operand& learning_rate,
                           const SparseRows& gradient, const AdadeltaUpdate& rule = {}, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
