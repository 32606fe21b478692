// Values in the log while a step runs.
#pragma once

#include <string_view>
#include <vector>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

struct PrintOptions {
  std::int64_t every = 1;      // log every n-th run, beginning with the first
  std::int64_t first_n = -1;   // log at most this many times; -1: no limit
  std::int64_t summarize = 3;  // elements shown at each end of a tensor; -1: all
};

// x itself; whenever it is computed, a line "message: [values] of shape" is logged. Each plan of a session counts its
// own runs. A run that logs allocates memory, one that does not allocates none.
Tensor print(const Operand& x, std::string_view message, const PrintOptions& options = {}, std::string_view name = "");
// The same with the values of other tensors instead of x.
Tensor print(const Operand& x, const std::vector<Tensor>& data, std::string_view message,
             const PrintOptions& options = {}, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
