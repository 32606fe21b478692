// Products of matrices and of batches of them.
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

struct MatMulOptions {
  bool transpose_a = false;  // the last two axes of a change places first
  bool transpose_b = false;
};

// a b, either one transposed first if asked: [m, k] x [k, n] -> [m, n]. Axes before the last two are batches and
// broadcast as NumPy's do: [batch, m, k] x [k, n] -> [batch, m, n].
Tensor matmul(const Operand& a, const Operand& b, const MatMulOptions& options = {}, std::string_view name = "");
Tensor matmul(const Operand& a, const Operand& b, std::string_view name);

// [..., n] -> [product of the rest, n]: a matrix with one row for each vector along the last axis.
Tensor flatten_rows(const Operand& x, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
