#pragma once

#include <opencv2/core.hpp>
#include <vector>

namespace belfry {

// The file of an image in RGB order; f32 images are cut to [0, 1]. Parameters are those of cv::imencode.
std::vector<unsigned char> encode_mat(const cv::Mat& image, const char* extension, const std::vector<int>& parameters);

}  // namespace belfry
