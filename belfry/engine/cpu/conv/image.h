// Where the elements of plain NHWC and NCHW images lie. Internal to engine/cpu.
#pragma once

#include <cstdint>

#include "belfry/ops/internal/conv_geometry.h"

namespace belfry {

struct ImageStrides {
  std::int64_t n = 0, c = 0, y = 0, x = 0;
  std::int64_t at(std::int64_t image, std::int64_t channel, std::int64_t row, std::int64_t column) const {
    return image * n + channel * c + row * y + column * x;
  }
};

inline ImageStrides image_strides(bool channels_last, std::int64_t channels, std::int64_t height, std::int64_t width) {
  if (channels_last) return {height * width * channels, 1, width * channels, channels};
  return {height * width * channels, height * width, width, 1};
}
inline ImageStrides input_strides(const ConvGeometry& g) { return image_strides(g.channels_last, g.c, g.h, g.w); }
inline ImageStrides output_strides(const ConvGeometry& g) { return image_strides(g.channels_last, g.o, g.oh, g.ow); }

}  // namespace belfry
