// What Interpolation means. Nearest and linear are ours; the others are OpenCV's, in builds that have it.
#pragma once

#include "belfry/dataflow/image/geometry.h"
#include "belfry/dataflow/image/internal/image_view.h"

namespace belfry {

// Throws "[where] ..." unless this build has it.
void check_interpolation(const char* where, Interpolation interpolation);

Array resized(ImageView& picture, const ImageSize& to, Interpolation interpolation);

}  // namespace belfry
