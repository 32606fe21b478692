// Updates of a table by a sparse gradient: only the rows that it has are read and written.
//
// The rules are those of optimizer.h, adaptive_optimizers.h and layerwise_optimizers.h, applied to those rows only. So
// slots are lazy: the accumulator, m and v of a row do not change while the row is not looked up, whereas the dense
// rule would let them decay and keep moving the row; weight decay, decoupled or not, also acts on a row only when it is
// looked up. Adam's step counts updates of the table, not of the row. Each function gives the variable's new value.
#pragma once

#include <string_view>

#include "belfry/ops/optimizer.h"
#include "belfry/ops/sparse_rows.h"

#pragma GCC visibility push(default)
namespace belfry {

Tensor apply_sgd_rows(const Variable& variable, const Operand& learning_rate, const SparseRows& gradient,
                      const SgdUpdate& rule = {}, std::string_view name = "");
Tensor apply_momentum_rows(const Variable& variable, const Variable& accumulator, const Operand& learning_rate,
                           const SparseRows& gradient, const MomentumUpdate& rule = {}, std::string_view name = "");
Tensor apply_adam_rows(const Variable& variable, const AdamSlots& slots, const Operand& step,
                       const Operand& learning_rate, const SparseRows& gradient, const AdamUpdate& rule = {},
                       std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
