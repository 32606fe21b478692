// Layers without variables that change the shape of what passes through.
#pragma once

#include <string_view>
#include <vector>

#include "belfry/nn/layers.h"
#include "belfry/ops/resize.h"

#pragma GCC visibility push(default)
namespace belfry {

enum class Upsampling : std::uint8_t { nearest, bilinear };

struct UpsampleOptions {
  Extent scale = 2;
  Upsampling method = Upsampling::nearest;
  bool align_corners = false;      // bilinear only, see ResizeOptions
  bool half_pixel_centers = true;  // unless align_corners is set: bilinear as in PyTorch and TensorFlow 2
  DataFormat data_format = DataFormat::nhwc;
};
// Enlarges images by whole factors: x | upsample("up", {.scale = 2}).
Layer upsample(std::string_view name, const UpsampleOptions& options = {}, const Location& where = Location::current());

// Tensorpack's name for flatten(): [batch, ...] -> [batch, product of the rest].
inline Layer batch_flatten(std::string_view name, const Location& where = Location::current()) {
  return flatten(name, where);
}

// x and then another tensor along an axis: x | concat_with("skip", encoder_output).
Layer concat_with(std::string_view name, const Tensor& other, int axis = -1,
                  const Location& where = Location::current());
Layer concat_with(std::string_view name, const std::vector<Tensor>& others, int axis = -1,
                  const Location& where = Location::current());

struct MaxoutOptions {
  std::int64_t units = 0;  // how many channels make one; has no default
  DataFormat data_format = DataFormat::nhwc;
};
// The maximum of every `units` adjacent channels.
Layer maxout(std::string_view name, const MaxoutOptions& options, const Location& where = Location::current());
inline Layer maxout(std::string_view name, std::int64_t units, const Location& where = Location::current()) {
  return maxout(name, MaxoutOptions{.units = units}, where);
}

// The largest pixel of each channel: [batch, channels]. (global_avg_pool is in layers.h.)
Layer global_max_pool(std::string_view name, DataFormat data_format = DataFormat::nhwc,
                      const Location& where = Location::current());

}  // namespace belfry
#pragma GCC visibility pop
