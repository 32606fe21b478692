// Augmentors that change where pixels are. They move masks and points along with the image. (Those that turn and shear
// are in opencv/warp.h.)
#pragma once

#include <cstdint>

#include "belfry/dataflow/image/augmentor.h"

#pragma GCC visibility push(default)
namespace belfry {

struct ImageSize {
  ImageSize(int side) : height(side), width(side) {}  // NOLINT(google-explicit-constructor)
  ImageSize(int height, int width) : height(height), width(width) {}
  int height, width;
};

// A range to draw from, uniformly, or a single value.
struct Interval {
  Interval(double value) : low(value), high(value) {}  // NOLINT(google-explicit-constructor)
  Interval(double low, double high) : low(low), high(high) {}
  double low, high;
};

enum class Interpolation : std::uint8_t {
  nearest,
  linear,
  // These need Belfry's part images (OpenCV).
  area,  // the mean of the pixels that become one: the best for much smaller images; for warps, the same as linear
  cubic,
  lanczos,
};

enum class BorderMode : std::uint8_t {
  constant,
  replicate,  // aaa|abcd|ddd
  reflect,    // dcb|abcd|cba
};

// What lies outside the picture.
struct Border {
  BorderMode mode = BorderMode::constant;
  double value = 0;       // of constant, in the image's own units: 255 is white in u8, 1 in f32
  double mask_value = 0;  // the same for masks
};

// To that size, whatever becomes of the proportions.
Augmentor resize(ImageSize size, Interpolation interpolation = Interpolation::linear);
// The shorter side becomes that long, the other one in proportion (rounded down).
Augmentor resize_shortest(int side, Interpolation interpolation = Interpolation::linear);

struct PadOptions {
  int top = 0, bottom = 0, left = 0, right = 0;  // pixels
  Border border{};
};
// More pixels on the sides.
Augmentor pad(PadOptions options);
Augmentor pad(int sides, Border border = {});  // the same on all four

// An image that is smaller is an error. The middle is rounded to the top left.
Augmentor center_crop(ImageSize size);

struct RandomCropOptions {
  int padding = 0;  // on all sides, before the crop
  Border border{};  // what it is padded with
};
// A part at a random place.
Augmentor random_crop(ImageSize size, RandomCropOptions options = {});

struct RandomResizedCropOptions {
  Interval scale{0.08, 1};               // of the area
  Interval ratio{3.0 / 4.0, 4.0 / 3.0};  // width to height; its logarithm is uniform
  Interpolation interpolation = Interpolation::linear;
};
// A part of random area, proportions and place, resized: Inception's crop, as in torchvision. Where ten tries do not
// fit the image, the largest part in its middle that keeps to the ratios.
Augmentor random_resized_crop(ImageSize size, RandomResizedCropOptions options = {});

Augmentor flip_horizontal(double probability = 0.5);  // left becomes right
Augmentor flip_vertical(double probability = 0.5);

}  // namespace belfry
#pragma GCC visibility pop
