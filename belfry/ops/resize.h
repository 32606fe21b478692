// Images in another size.
#pragma once

#include <string_view>

#include "belfry/graph/tensor.h"
#include "belfry/ops/window.h"

#pragma GCC visibility push(default)
namespace belfry {

// Pixel i of the result is taken from place i * in / out of the image, as in TensorFlow 1. With align_corners the
// corner pixels' centres coincide: i * (in - 1) / (out - 1). With half_pixel_centers pixels are areas and not points:
// (i + 0.5) * in / out - 0.5, as in PyTorch with align_corners=False.
struct ResizeOptions {
  Extent size = 0;   // of the result; 0: the image's, times the scale
  Extent scale = 1;  // integers
  bool align_corners = false;
  bool half_pixel_centers = false;
  DataFormat data_format = DataFormat::nhwc;
};

// resize_nearest(x, {.size = {48, 64}}), resize_bilinear(x, {.scale = 2, .half_pixel_centers = true})
Tensor resize_nearest(const Operand& x, const ResizeOptions& options, std::string_view name = "");
Tensor resize_bilinear(const Operand& x, const ResizeOptions& options, std::string_view name = "");

}  // namespace belfry
#pragma GCC visibility pop
