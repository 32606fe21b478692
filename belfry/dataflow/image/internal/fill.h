#pragma once

#include <cstddef>
#include <vector>

#include "belfry/array/array.h"

namespace belfry {

// The bytes of `count` values of the type: rounded (halves to even) and cut to its range, as OpenCV does it.
std::vector<std::byte> filled_bytes(double value, DType dtype, std::size_t count);

}  // namespace belfry
