// Reductions over any axes: reduce_sum(x, {.axes = {0, -1}, .keep_dims = true}), reduce_mean(x, "loss").
#pragma once

#include <string_view>

#include "belfry/graph/attributes.h"
#include "belfry/graph/tensor.h"

namespace belfry {

struct ReduceOptions {
  Ints axes{};             // none: all of them
  bool keep_dims = false;  // reduced axes stay, with size 1
};

// Of no elements: a sum is 0, a product 1, a mean NaN, a maximum the least value of the type, a minimum the greatest.
Tensor reduce_sum(const Operand& x, const ReduceOptions& options = {}, std::string_view name = "");
Tensor reduce_mean(const Operand& x, const ReduceOptions& options = {}, std::string_view name = "");
Tensor reduce_max(const Operand& x, const ReduceOptions& options = {}, std::string_view name = "");
Tensor reduce_min(const Operand& x, const ReduceOptions& options = {}, std::string_view name = "");
Tensor reduce_prod(const Operand& x, const ReduceOptions& options = {}, std::string_view name = "");

Tensor reduce_sum(const Operand& x, std::string_view name);
Tensor reduce_mean(const Operand& x, std::string_view name);
Tensor reduce_max(const Operand& x, std::string_view name);
Tensor reduce_min(const Operand& x, std::string_view name);
Tensor reduce_prod(const Operand& x, std::string_view name);

}  // namespace belfry
