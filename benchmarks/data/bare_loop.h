// The loop that one would write by hand: decode, crop, flip, normalise, put into a batch, with only libjpeg and
// OpenCV.
#pragma once

#include <vector>

#include "belfry/array/array.h"

namespace belfry::bench {

struct Crop {
  int size = 32;
  int padding = 4;  // on all sides, before the crop
};

inline constexpr float kMean[] = {0.485f, 0.456f, 0.406f}, kDeviation[] = {0.229f, 0.224f, 0.225f};
inline constexpr int kBatch = 128;

// Goes once through jpegs[first], jpegs[first + stride], ... The seconds it took.
double bare_loop(const std::vector<Array>& jpegs, const Crop& crop, std::size_t first, std::size_t stride);

}  // namespace belfry::bench
