#include "benchmarks/data/bare_loop.h"

#include <cstring>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "belfry/base/random.h"
#include "benchmarks/options.h"

namespace belfry::bench {

double bare_loop(const std::vector<Array>& jpegs, const Crop& crop, std::size_t first, std::size_t stride) {
  const cv::Scalar mean(kMean[0], kMean[1], kMean[2]), deviation(kDeviation[0], kDeviation[1], kDeviation[2]);
  const auto row = static_cast<std::size_t>(crop.size) * static_cast<std::size_t>(crop.size) * 3;
  std::vector<float> batch(kBatch * row);
  RandomStream random(first);
  cv::Mat decoded, rgb, padded, flipped, scaled;
  std::size_t in_batch = 0;
  const double begin = now();
  for (std::size_t i = first; i < jpegs.size(); i += stride) {
    const cv::Mat bytes(1, static_cast<int>(jpegs[i].bytes()), CV_8U, const_cast<void*>(jpegs[i].raw()));
    cv::imdecode(bytes, cv::IMREAD_COLOR, &decoded);
    cv::cvtColor(decoded, rgb, cv::COLOR_BGR2RGB);
    if (crop.padding > 0)
      cv::copyMakeBorder(rgb, padded, crop.padding, crop.padding, crop.padding, crop.padding, cv::BORDER_CONSTANT);
    const cv::Mat& whole = crop.padding > 0 ? padded : rgb;
    const auto place = [&](int length) {
      return static_cast<int>(random.below(static_cast<std::uint64_t>(length - crop.size + 1)));
    };
    cv::Mat part = whole(cv::Rect(place(whole.cols), place(whole.rows), crop.size, crop.size));
    if (random.below(2) == 0) {
      cv::flip(part, flipped, 1);
      part = flipped;
    }
    part.convertTo(scaled, CV_32F, 1.0 / 255);
    cv::subtract(scaled, mean, scaled);
    cv::divide(scaled, deviation, scaled);
    std::memcpy(batch.data() + in_batch * row, scaled.data, row * sizeof(float));
    in_batch = (in_batch + 1) % kBatch;
  }
  return now() - begin;
}

}  // namespace belfry::bench
