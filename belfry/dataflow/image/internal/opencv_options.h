// Our options as OpenCV's, and the checks and draws that augmentors share.
#pragma once

#include <opencv2/core.hpp>

#include "belfry/base/random.h"
#include "belfry/dataflow/image/geometry.h"

namespace belfry {

int resize_flag(Interpolation interpolation);  // nearest: pixels' middles, as the other kinds have it
int warp_flag(Interpolation interpolation);
int border_flag(BorderMode mode);
inline cv::Scalar in_all_channels(double value) { return cv::Scalar::all(value); }

// What an augmentor makes has no longer side. OpenCV reads no image with a longer one either, and its products of sides
// and channels stay within int.
constexpr int kMaxMadeSide = 1 << 20;
void check_size(const char* where, const ImageSize& size);
// Throws unless least <= low <= high <= most.
void check_interval(const char* where, const char* what, const Interval& interval, double least, double most);
inline double draw(const Interval& interval, RandomStream& random) {
  return interval.low + (interval.high - interval.low) * random.uniform();
}

}  // namespace belfry
