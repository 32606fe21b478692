// A batch, row by row.
#pragma once

#include <vector>

#include "belfry/array/array.h"

namespace belfry {

// The rows of an array [n, ...], n arrays [...] that share its memory.
std::vector<Array> rows_of(const Array& batch);

}  // namespace belfry
