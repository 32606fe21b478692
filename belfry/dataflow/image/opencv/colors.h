// Augmentors that change colours, and add noise and blur. Masks and points stay as they are.
//
// Changes of colour are for images of 1 or 3 channels, RGB. Amounts are in units of the range from black to white, 0 to
// 255 in u8 and 0 to 1 in f32, to which the results are cut.
#pragma once

#include "belfry/dataflow/image/augmentor.h"
#include "belfry/dataflow/image/geometry.h"

#pragma GCC visibility push(default)
namespace belfry {

// Factors are drawn from [max(0, 1 - amount), 1 + amount], hue turns from [-hue, hue] (whole turns; at most 0.5). Those
// with an amount are done in a random order, as in torchvision:
//   brightness  x * factor
//   contrast    factor * x + (1 - factor) * mean of the grey picture
//   saturation  factor * x + (1 - factor) * the pixel's grey
//   hue         turned in HSV
// Grey images have no saturation and no hue.
struct ColorJitterOptions {
  double brightness = 0, contrast = 0, saturation = 0, hue = 0;
};
Augmentor color_jitter(ColorJitterOptions options);

// x ^ gamma.
Augmentor random_gamma(Interval gamma);

// Adds normal numbers, of their own for each channel, with a deviation from the range.
Augmentor gaussian_noise(Interval deviation);

struct GaussianBlurOptions {
  Interval sigma{0.1, 2};  // pixels
  int kernel = 0;          // odd; 0: as large as sigma asks for
};
Augmentor gaussian_blur(GaussianBlurOptions options = {});

// What saving as a JPEG of a quality from the range, 1 to 100, does to the image, which must be u8.
Augmentor jpeg_noise(Interval quality);

}  // namespace belfry
#pragma GCC visibility pop
