// Augmentors that turn, scale, shear and move the picture. They move masks and points along with the image.
#pragma once

#include "belfry/dataflow/image/augmentor.h"
#include "belfry/dataflow/image/geometry.h"

#pragma GCC visibility push(default)
namespace belfry {

struct WarpOptions {
  Interpolation interpolation = Interpolation::linear;
  Border border{};
};
// About the middle, counter-clockwise, by an angle from the range. The size stays.
Augmentor rotate(Interval degrees, WarpOptions options = {});

struct AffineOptions {
  Interval degrees = 0;    // counter-clockwise
  double translate_x = 0;  // up to this part of the width, to either side
  double translate_y = 0;  // of the height
  Interval scale = 1;
  Interval shear = 0;  // degrees, along x
  Interpolation interpolation = Interpolation::linear;
  Border border{};
};
// Sheared, scaled, turned about the middle, and moved, all in one. The size stays.
Augmentor affine(AffineOptions options);

}  // namespace belfry
#pragma GCC visibility pop
