// What augmentors of colours share.
#pragma once

#include <opencv2/core.hpp>

#include "belfry/dataflow/image/internal/image_step.h"

namespace belfry {

void cut_to_range(cv::Mat& pixels);  // f32 to [0, 1]
void check_colours(const char* where, const Sampling& sampling);
inline double white_of(const cv::Mat& pixels) { return pixels.depth() == CV_8U ? 255 : 1; }

}  // namespace belfry
