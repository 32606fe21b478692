// Which values a vector has.
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

// The distinct elements of a vector in the order in which they first appear. How many there are depends on data: what
// comes after is planned for each number that occurs (see sizes.h).
Tensor unique(const Operand& x, std::string_view name = "");

// The same in a fixed shape, for which one plan is enough: `values` and `counts` are as long as x, and 0 after the
// first `size` entries.
struct UniqueCounts {
  Tensor values;  // [n]
  Tensor index;   // i64 [n]: where in `values` each element of x is
  Tensor counts;  // i64 [n]: how often each value occurs
  Tensor size;    // i64 []: how many values there are
};
UniqueCounts unique_with_counts(const Operand& x, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
