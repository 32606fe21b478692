#pragma once

#include "belfry/array/array.h"

namespace belfry {

// The image, u8 of 1 or 3 channels, turned upright from one of EXIF's eight orientations.
Array turned_upright(const Array& image, int orientation);

}  // namespace belfry
