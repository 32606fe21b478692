#include "belfry/dataflow/image/internal/interpolations.h"

#include "belfry/base/check.h"
#include "belfry/dataflow/image/internal/resize_pixels.h"

namespace belfry {
namespace {

constinit OtherResize other_resize = nullptr;

}  // namespace

void provide_other_resize(OtherResize resize) { other_resize = resize; }

void check_interpolation(const char* where, Interpolation interpolation) {
  constexpr const char* names[] = {"nearest", "linear", "area", "cubic", "lanczos"};
  BELFRY_CHECK(interpolation <= Interpolation::lanczos, "[{}] expected an Interpolation, got the number {}.", where,
               static_cast<int>(interpolation));
  BELFRY_CHECK(
      interpolation <= Interpolation::linear || other_resize != nullptr,
      "[{}] expected a program with Belfry's part 'images' (OpenCV) for Interpolation::{}, got one without it. Link "
      "Belfry::images (where it is missing, install libopencv-imgproc-dev, libjpeg-dev, libpng-dev and libwebp-dev "
      "and build Belfry again), or take Interpolation::linear.",
      where, names[static_cast<int>(interpolation)]);
}

Array resized(ImageView& picture, const ImageSize& to, Interpolation interpolation) {
  if (interpolation == Interpolation::nearest) return resize_nearest(picture, to.height, to.width);
  if (interpolation == Interpolation::linear) return resize_linear(picture, to.height, to.width);
  return other_resize(picture, to, interpolation);
}

}  // namespace belfry
