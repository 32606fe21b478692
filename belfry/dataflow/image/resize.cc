#include <algorithm>
#include <cmath>

#include "belfry/base/check.h"
#include "belfry/dataflow/image/geometry.h"
#include "belfry/dataflow/image/internal/geometry_steps.h"
#include "belfry/dataflow/image/internal/interpolations.h"
#include "belfry/dataflow/image/internal/options.h"

namespace belfry {
namespace {

void add_resize(Sampling& sampling, int height, int width, Interpolation interpolation) {
  if (height == sampling.height() && width == sampling.width()) return;
  sampling.add(ResizeStep({sampling.height(), sampling.width()}, {height, width}, interpolation));
  sampling.set_size(height, width);
}

// The largest part in the middle whose proportions are within the range.
ImagePart middle_part(int height, int width, const Interval& ratio) {
  const double own = static_cast<double>(width) / height;
  ImageSize size(height, width);
  if (own < ratio.low) size.height = std::max(1, static_cast<int>(std::lround(width / ratio.low)));
  if (own > ratio.high) size.width = std::max(1, static_cast<int>(std::lround(height * ratio.high)));
  return {(width - size.width) / 2, (height - size.height) / 2, size.width, size.height};
}

ImagePart random_part(int height, int width, const RandomResizedCropOptions& options, RandomStream& random) {
  const Interval log_ratio(std::log(options.ratio.low), std::log(options.ratio.high));
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area = draw(options.scale, random) * height * width;
    const double ratio = std::exp(draw(log_ratio, random));
    const auto part_width = std::lround(std::sqrt(area * ratio)), part_height = std::lround(std::sqrt(area / ratio));
    if (part_width < 1 || part_height < 1 || part_width > width || part_height > height) continue;
    const auto x = random.below(static_cast<std::uint64_t>(width - part_width + 1));
    const auto y = random.below(static_cast<std::uint64_t>(height - part_height + 1));
    return {static_cast<int>(x), static_cast<int>(y), static_cast<int>(part_width), static_cast<int>(part_height)};
  }
  return middle_part(height, width, options.ratio);
}

}  // namespace

Augmentor resize(ImageSize size, Interpolation interpolation) {
  check_size("resize", size);
  check_interpolation("resize", interpolation);
  return make_augmentor(
      [=](Sampling& sampling, RandomStream&) { add_resize(sampling, size.height, size.width, interpolation); });
}

Augmentor resize_shortest(int side, Interpolation interpolation) {
  check_size("resize_shortest", side);
  check_interpolation("resize_shortest", interpolation);
  return make_augmentor([=](Sampling& sampling, RandomStream&) {
    const std::int64_t height = sampling.height(), width = sampling.width(), shortest = std::min(height, width);
    const std::int64_t new_height = side * height / shortest, new_width = side * width / shortest;
    BELFRY_CHECK(std::max(new_height, new_width) <= kMaxMadeSide,
                 "[resize_shortest] expected an image that becomes no longer than 2^20 pixels, got {}, which would be "
                 "{} x {}. Crop it first, or make it smaller.",
                 to_string(sampling.shape), new_height, new_width);
    add_resize(sampling, static_cast<int>(new_height), static_cast<int>(new_width), interpolation);
  });
}

Augmentor random_resized_crop(ImageSize size, RandomResizedCropOptions options) {
  check_size("random_resized_crop", size);
  check_interval("random_resized_crop", "the scale", options.scale, 0, 1);
  check_interval("random_resized_crop", "the ratio", options.ratio, 1e-3, 1e3);
  check_interpolation("random_resized_crop", options.interpolation);
  return make_augmentor([=](Sampling& sampling, RandomStream& random) {
    const ImagePart part = random_part(sampling.height(), sampling.width(), options, random);
    sampling.add(CropStep(part));
    sampling.set_size(part.height, part.width);
    add_resize(sampling, size.height, size.width, options.interpolation);
  });
}

}  // namespace belfry
