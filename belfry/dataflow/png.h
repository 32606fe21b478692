// Images as PNG files, in every build: it takes no optional part.
//
//   write_png("samples.png", image_sheet(rows_of(samples), {.columns = 8}));
//
// An image is u8 or f32 [height, width, channels]: grey, RGB or RGBA. Of f32, 0 is black and 1 is white; values beyond
// are clipped, so that infinity is white; NaN is black.
#pragma once

#include <string>

#include "belfry/array/array.h"

#pragma GCC visibility push(default)
namespace belfry {

Array encode_png(const Array& image);  // u8 [n]: the contents of a file, 8 bits per channel
// Written entirely or not at all. Throws FileError, with the path.
void write_png(const std::string& path, const Array& image);

}  // namespace belfry
#pragma GCC visibility pop
