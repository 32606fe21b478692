// Running sums along an axis.
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

struct CumsumOptions {
  bool exclusive = false;  // without the element itself: the first sum is 0
  bool reverse = false;    // from the end
};

// cumsum({1, 2, 3}, 0) is {1, 3, 6}, {0, 1, 3} if exclusive, {6, 5, 3} in reverse, {5, 3, 0} if both.
Tensor cumsum(const Operand& x, int axis = 0, const CumsumOptions& options = {}, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
