// Ops that give or combine truth values (bool). They broadcast, and no gradient flows through them.
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

Tensor logical_and(const Operand& a, const Operand& b, std::string_view name = "");
Tensor logical_or(const Operand& a, const Operand& b, std::string_view name = "");
Tensor logical_xor(const Operand& a, const Operand& b, std::string_view name = "");
Tensor logical_not(const Operand& x, std::string_view name = "");

// Of f32 or f64.
Tensor is_nan(const Operand& x, std::string_view name = "");
Tensor is_inf(const Operand& x, std::string_view name = "");
Tensor is_finite(const Operand& x, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
