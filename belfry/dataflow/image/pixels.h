// Augmentors that change what pixels are. Masks and points stay as they are. (Those that change colours, noise and blur
// are in opencv/colors.h.)
#pragma once

#include <vector>

#include "belfry/dataflow/image/augmentor.h"

#pragma GCC visibility push(default)
namespace belfry {

// f32, (x - mean) / deviation, for each channel; x is in [0, 1], so u8 images are divided by 255 on the way. One mean
// and deviation for each channel, or one for all.
Augmentor normalize(std::vector<float> mean, std::vector<float> deviation);
// f32 in [0, 1]; f32 images stay as they are.
Augmentor to_float();

struct CutoutOptions {
  int side = 8;      // pixels
  int count = 1;     // how many squares; they may overlap
  double value = 0;  // in the image's own units
};
// Squares whose middles are anywhere in the image are covered (DeVries and Taylor 2017).
Augmentor cutout(CutoutOptions options = {});

}  // namespace belfry
#pragma GCC visibility pop
