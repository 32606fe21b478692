#include "belfry/dataflow/image/internal/geometry_steps.h"

#include "belfry/dataflow/image/internal/border.h"
#include "belfry/dataflow/image/internal/interpolations.h"

namespace belfry {
namespace {

void shift(std::span<float> points, const ImagePart& part) {
  for (std::size_t i = 0; i + 1 < points.size(); i += 2) {
    points[i] -= static_cast<float>(part.x);
    points[i + 1] -= static_cast<float>(part.y);
  }
}

}  // namespace

void CropStep::points(std::span<float> points) const { shift(points, part_); }

void PaddedCropStep::image(ImageView& image) const {
  image.replace(padded_part(image, part_, border_.mode, border_.value));
}
void PaddedCropStep::mask(ImageView& mask) const {
  mask.replace(padded_part(mask, part_, border_.mode, border_.mask_value));
}
void PaddedCropStep::points(std::span<float> points) const { shift(points, part_); }

void ResizeStep::apply(ImageView& picture, Interpolation interpolation) const {
  picture.replace(resized(picture, to_, interpolation));
}

// Pixels are areas: the left edge, at -0.5, stays where it is.
void ResizeStep::points(std::span<float> points) const {
  const float x_scale = static_cast<float>(to_.width) / static_cast<float>(from_.width);
  const float y_scale = static_cast<float>(to_.height) / static_cast<float>(from_.height);
  for (std::size_t i = 0; i + 1 < points.size(); i += 2) {
    points[i] = (points[i] + 0.5f) * x_scale - 0.5f;
    points[i + 1] = (points[i + 1] + 0.5f) * y_scale - 0.5f;
  }
}

}  // namespace belfry
