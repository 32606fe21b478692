// Reductions over any axes: reduce_sum(x, {.axes = {0, -1}, .keep_dims = true}), reduce_mean(x, "loss").
#pragma once

#include <string_view>

#include "belfry/graph/attributes.h"
#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

struct ReduceOptions {
  Ints axes{};             // none: all of them
  bool keep_dims = false;  // reduced axes stay, with size 1
};

// Over no elements: a sum is 0, a product 1, a mean NaN, a maximum the least value of the type, a minimum the greatest,
// a logsumexp -infinity; reduce_any is false and reduce_all is true.
Tensor reduce_sum(const Operand& x, const ReduceOptions& options = {}, std::string_view name = "");
Tensor reduce_mean(const Operand& x, const ReduceOptions& options = {}, std::string_view name = "");
Tensor reduce_max(const Operand& x, const ReduceOptions& options = {}, std::string_view name = "");
Tensor reduce_min(const Operand& x, const ReduceOptions& options = {}, std::string_view name = "");
Tensor reduce_prod(const Operand& x, const ReduceOptions& options = {}, std::string_view name = "");

// log(sum(exp(x))), without overflow.
Tensor reduce_logsumexp(const Operand& x, const ReduceOptions& options = {}, std::string_view name = "");
// Whether some or all of x (bool) are true.
Tensor reduce_any(const Operand& x, const ReduceOptions& options = {}, std::string_view name = "");
Tensor reduce_all(const Operand& x, const ReduceOptions& options = {}, std::string_view name = "");
// sqrt(sum(x^2)). Its gradient at 0 is 0.
Tensor l2_norm(const Operand& x, const ReduceOptions& options = {}, std::string_view name = "");

struct L2NormalizeOptions {
  Ints axes{-1};           // over which the norm is taken; none: all of them
  double epsilon = 1e-12;  // the least sum of squares
};
// x / sqrt(max(sum(x^2), epsilon)): of norm 1, unless it is nearly 0.
Tensor l2_normalize(const Operand& x, const L2NormalizeOptions& options = {}, std::string_view name = "");

Tensor reduce_sum(const Operand& x, std::string_view name);
Tensor reduce_mean(const Operand& x, std::string_view name);
Tensor reduce_max(const Operand& x, std::string_view name);
Tensor reduce_min(const Operand& x, std::string_view name);
Tensor reduce_prod(const Operand& x, std::string_view name);

}  // namespace belfry
#pragma GCC visibility pop
