// Pictures of another size, with the bits of cv::resize() in OpenCV 4.6.
#pragma once

#include "belfry/dataflow/image/internal/image_view.h"

namespace belfry {

// INTER_NEAREST_EXACT, of any type: each pixel is the one under its middle, the upper left one on a tie. Sides of 2^15
// and more, where OpenCV's numbers overflow, are exact here.
Array resize_nearest(ImageView& picture, int height, int width);

// INTER_LINEAR, of u8 and f32.
Array resize_linear(ImageView& picture, int height, int width);

}  // namespace belfry
