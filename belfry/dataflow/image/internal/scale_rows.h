// u8 or f32 pixels to f32, value * scale + shift with a scale and a shift for each channel.
#pragma once

#include "belfry/dataflow/image/internal/image_view.h"

namespace belfry {

struct ChannelScale {
  float scale[4] = {1, 1, 1, 1};
  float shift[4] = {0, 0, 0, 0};
};

// One pass: what is only noted in the view, a crop and flips, happens on the way.
Array scale_pixels(const ImageView& image, const ChannelScale& by);

}  // namespace belfry
