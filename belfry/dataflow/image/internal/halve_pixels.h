#pragma once

#include "belfry/dataflow/image/internal/image_view.h"

namespace belfry {

// A picture of u8 or f32 at half its height and half its width, both even: each pixel is the mean of four.
Array halved(const ImageView& picture);

}  // namespace belfry
