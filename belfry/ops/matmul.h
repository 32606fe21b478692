// Products of matrices.
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"

namespace belfry {

struct MatMulOptions {
  bool transpose_a = false;
  bool transpose_b = false;
};

// a b, either one transposed first if asked: [m, k] x [k, n] -> [m, n].
Tensor matmul(const Operand& a, const Operand& b, const MatMulOptions& options = {}, std::string_view name = "");
Tensor matmul(const Operand& a, const Operand& b, std::string_view name);

}  // namespace belfry
