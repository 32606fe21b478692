#include "belfry/dataflow/image/internal/opencv_options.h"

#include <opencv2/imgproc.hpp>

#include "belfry/base/check.h"

namespace belfry {

int resize_flag(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::nearest: return cv::INTER_NEAREST_EXACT;
    case Interpolation::linear: return cv::INTER_LINEAR;
    case Interpolation::area: return cv::INTER_AREA;
    case Interpolation::cubic: return cv::INTER_CUBIC;
    case Interpolation::lanczos: return cv::INTER_LANCZOS4;
  }
  fail("[resize] expected an Interpolation, got the number {}.", static_cast<int>(interpolation));
}

int warp_flag(Interpolation interpolation) {
  if (interpolation == Interpolation::nearest) return cv::INTER_NEAREST;
  return interpolation == Interpolation::area ? cv::INTER_LINEAR : resize_flag(interpolation);
}

int border_flag(BorderMode mode) {
  switch (mode) {
    case BorderMode::constant: return cv::BORDER_CONSTANT;
    case BorderMode::replicate: return cv::BORDER_REPLICATE;
    case BorderMode::reflect: return cv::BORDER_REFLECT_101;
  }
  fail("[Border] expected a BorderMode, got the number {}.", static_cast<int>(mode));
}

void check_size(const char* where, const ImageSize& size) {
  BELFRY_CHECK(size.height > 0 && size.width > 0, "[{}] expected a size of at least 1 x 1, got {} x {}.", where,
               size.height, size.width);
  BELFRY_CHECK(size.height <= kMaxMadeSide && size.width <= kMaxMadeSide,
               "[{}] expected a size of at most 2^20 x 2^20, got {} x {}.", where, size.height, size.width);
}

void check_interval(const char* where, const char* what, const Interval& interval, double least, double most) {
  BELFRY_CHECK(least <= interval.low && interval.low <= interval.high && interval.high <= most,
               "[{}] expected {} as a range within {} to {}, got {} to {}.", where, what, least, most, interval.low,
               interval.high);
}

}  // namespace belfry
