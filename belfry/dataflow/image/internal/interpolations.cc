#include "belfry/dataflow/image/internal/interpolations.h"

#include "belfry/base/check.h"
#include "belfry/dataflow/image/internal/resize_pixels.h"
#ifdef BELFRY_HAS_OPENCV
#include "belfry/dataflow/image/opencv/internal/resize_by_opencv.h"
#endif

namespace belfry {

void check_interpolation(const char* where, Interpolation interpolation) {
  BELFRY_CHECK(interpolation <= Interpolation::lanczos, "[{}] expected an Interpolation, got the number {}.", where,
               static_cast<int>(interpolation));
#ifndef BELFRY_HAS_OPENCV
  constexpr const char* names[] = {"nearest", "linear", "area", "cubic", "lanczos"};
  BELFRY_CHECK(
      interpolation <= Interpolation::linear,
      "[{}] expected Belfry's part 'images' (OpenCV) for Interpolation::{}, got a Belfry that was built without "
      "it. Install libopencv-core-dev, libopencv-imgproc-dev and libopencv-imgcodecs-dev and build Belfry "
      "again, or take Interpolation::linear.",
      where, names[static_cast<int>(interpolation)]);
#endif
}

Array resized(ImageView& picture, const ImageSize& to, Interpolation interpolation) {
  if (interpolation == Interpolation::nearest) return resize_nearest(picture, to.height, to.width);
#ifdef BELFRY_HAS_OPENCV
  if (interpolation != Interpolation::linear) return resize_by_opencv(picture, to, interpolation);
#endif
  return resize_linear(picture, to.height, to.width);
}

}  // namespace belfry
