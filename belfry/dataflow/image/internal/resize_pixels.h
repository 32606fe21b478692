// Pictures of another size. Each has the bits of cv::resize() in OpenCV 4.6, except where the function says otherwise.
#pragma once

#include "belfry/dataflow/image/internal/image_view.h"

namespace belfry {

// INTER_NEAREST_EXACT, of any type: each pixel is the one under its middle, the upper left one on a tie. Sides of 2^15
// and more, where OpenCV's numbers overflow, are exact here.
Array resize_nearest(ImageView& picture, int height, int width);

// INTER_LINEAR, of u8 and f32. OpenCV takes another way for pictures that become exactly half as high and half as wide:
// there u8 with 2 channels may be 1 apart (it rounds halves to even), f32 by the rounding of a sum of four.
Array resize_linear(ImageView& picture, int height, int width);

}  // namespace belfry
