// Our options as OpenCV's.
#pragma once

#include <opencv2/core.hpp>

#include "belfry/dataflow/image/geometry.h"

namespace belfry {

int interpolation_flag(Interpolation interpolation);
int warp_flag(Interpolation interpolation);
int border_flag(BorderMode mode);
inline cv::Scalar in_all_channels(double value) { return cv::Scalar::all(value); }

}  // namespace belfry
