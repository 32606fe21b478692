// Which values a vector has.
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

// The distinct elements of a vector in the order in which they appear first. How many there are follows from data: what
// is behind it is planned for each number that comes (see sizes.h).
Tensor unique(const Operand& x, std::string_view name = "");

// The same in a fixed shape, for which one plan does: `values` and `counts` are as long as x, and what is behind the
// first `size` entries is 0.
struct UniqueCounts {
  Tensor values;  // [n]
  Tensor index;   // i64 [n]: where in `values` each element of x is
  Tensor counts;  // i64 [n]: how often each value occurs
  Tensor size;    // i64 []: how many values there are
};
UniqueCounts unique_with_counts(const Operand& x, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
