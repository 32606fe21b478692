// A batch, row by row.
#pragma once

#include <vector>

#include "belfry/array/array.h"

#pragma GCC visibility push(default)
namespace belfry {

// The rows of an array [n, ...], n arrays [...] that share its memory.
std::vector<Array> rows_of(const Array& batch);

}  // namespace belfry
#pragma GCC visibility pop
