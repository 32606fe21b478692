#include "belfry/dataflow/image/opencv/internal/opencv_options.h"

#include <opencv2/imgproc.hpp>

#include "belfry/base/check.h"

namespace belfry {

int interpolation_flag(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::nearest: return cv::INTER_NEAREST;
    case Interpolation::linear: return cv::INTER_LINEAR;
    case Interpolation::area: return cv::INTER_AREA;
    case Interpolation::cubic: return cv::INTER_CUBIC;
    case Interpolation::lanczos: return cv::INTER_LANCZOS4;
  }
  BELFRY_BUG_IF(true, "the interpolation {}", static_cast<int>(interpolation));
  return 0;
}

int warp_flag(Interpolation interpolation) {
  return interpolation == Interpolation::area ? cv::INTER_LINEAR : interpolation_flag(interpolation);
}

int border_flag(BorderMode mode) {
  switch (mode) {
    case BorderMode::constant: return cv::BORDER_CONSTANT;
    case BorderMode::replicate: return cv::BORDER_REPLICATE;
    case BorderMode::reflect: return cv::BORDER_REFLECT_101;
  }
  BELFRY_BUG_IF(true, "the border mode {}", static_cast<int>(mode));
  return 0;
}

}  // namespace belfry
