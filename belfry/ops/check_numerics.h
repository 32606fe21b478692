// A guard in the graph against values that are not numbers.
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"

#pragma GCC visibility push(default)
namespace belfry {

// Gives x; a run in which it holds NaN or infinity ends with a NumericError with `message`, the op, the source line,
// the first such element and its value. Like any op it runs only in a run that needs it: use its result, or put it into
// ControlDependencies.
Tensor check_numerics(const Operand& x, std::string_view message, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
