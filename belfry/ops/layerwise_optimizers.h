// Updates in which the rate of a whole variable adapts to norms, for large batches: LARS (You, Gitman, Ginsburg 2017)
// and LAMB (You et al. 2019). As in optimizer.h each is a single op and gives the variable's new value: one pass that
// reads for the norms, one that updates. The norms are summed in f64 and in an order that does not depend on the number
// of threads. g is the gradient. Where a norm is 0, and with `adapt` off, the trust is 1.
//
// The functions on rows read and change only those, see sparse_optimizer.h: their norms are over the rows that the
// gradient has, of the table and of the gradient alike.
#pragma once

#include <string_view>

#include "belfry/ops/optimizer.h"
#include "belfry/ops/sparse_rows.h"

#pragma GCC visibility push(default)
namespace belfry {

struct LarsUpdate {
  double momentum = 0.9;
  double trust_coefficient = 1e-3;
  double weight_decay = 0;
  double epsilon = 1e-8;
  bool adapt = true;
};
// trust = trust_coefficient |w| / (|g| + weight_decay |w| + epsilon)
// accumulator = momentum accumulator + lr trust (g + weight_decay w);  w -= accumulator
Tensor apply_lars(const Variable& variable, const Variable& accumulator, const Operand& learning_rate,
                  const Operand& gradient, const LarsUpdate& rule = {}, std::string_view name = "");
Tensor apply_lars_rows(const Variable& variable, const Variable& accumulator, const Operand& learning_rate,
                       const SparseRows& gradient, const LarsUpdate& rule = {}, std::string_view name = "");

struct LambUpdate {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  double weight_decay = 0;
  bool adapt = true;
};
// m and v as in Adam;  d = m / (1 - beta1^step) / (sqrt(v) / sqrt(1 - beta2^step) + epsilon) + weight_decay w
// trust = |w| / |d|;  w -= lr trust d
Tensor apply_lamb(const Variable& variable, const AdamSlots& slots, const Operand& step, const Operand& learning_rate,
                  const Operand& gradient, const LambUpdate& rule = {}, std::string_view name = "");
Tensor apply_lamb_rows(const Variable& variable, const AdamSlots& slots, const Operand& step,
                       const Operand& learning_rate, const SparseRows& gradient, const LambUpdate& rule = {},
                       std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
