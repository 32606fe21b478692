// Images on their way to a file, where a pixel's values are bytes.
#pragma once

#include "belfry/array/array.h"

#pragma GCC visibility push(default)
namespace belfry {

// Throws "[where] ..." unless it is u8 or f32 [height, width, 1, 3 or 4 channels], with pixels.
void check_picture(const char* where, const Array& image);

// u8: the image itself, or of f32 the nearest of 256 steps from 0 to 1, to which values are cut. NaN becomes black.
Array to_bytes(const Array& image);

}  // namespace belfry
#pragma GCC visibility pop
