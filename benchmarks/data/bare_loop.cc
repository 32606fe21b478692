#include "benchmarks/data/bare_loop.h"

// clang-format off: jpeglib.h needs the headers before it, and does not include them
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include <cstring>
#include <opencv2/core.hpp>

#include "belfry/base/random.h"
#include "benchmarks/options.h"

namespace belfry::bench {
namespace {

// One after the other, as libjpeg's own manual does it.
class Jpegs {
 public:
  Jpegs() {
    jpeg_.err = jpeg_std_error(&errors_);
    jpeg_create_decompress(&jpeg_);
  }
  ~Jpegs() { jpeg_destroy_decompress(&jpeg_); }
  Jpegs(const Jpegs&) = delete;
  Jpegs& operator=(const Jpegs&) = delete;

  void decode(const Array& file, cv::Mat& rgb) {
    jpeg_mem_src(&jpeg_, static_cast<const unsigned char*>(file.raw()), file.bytes());
    jpeg_read_header(&jpeg_, TRUE);
    jpeg_start_decompress(&jpeg_);
    rgb.create(static_cast<int>(jpeg_.output_height), static_cast<int>(jpeg_.output_width), CV_8UC3);
    while (jpeg_.output_scanline < jpeg_.output_height) {
      JSAMPROW row = rgb.ptr(static_cast<int>(jpeg_.output_scanline));
      jpeg_read_scanlines(&jpeg_, &row, 1);
    }
    jpeg_finish_decompress(&jpeg_);
  }

 private:
  jpeg_error_mgr errors_{};
  jpeg_decompress_struct jpeg_{};
};

}  // namespace

double bare_loop(const std::vector<Array>& jpegs, const Crop& crop, std::size_t first, std::size_t stride) {
  const cv::Scalar mean(kMean[0], kMean[1], kMean[2]), deviation(kDeviation[0], kDeviation[1], kDeviation[2]);
  const auto row = static_cast<std::size_t>(crop.size) * static_cast<std::size_t>(crop.size) * 3;
  std::vector<float> batch(kBatch * row);
  RandomStream random(first);
  Jpegs files;
  cv::Mat rgb, padded, flipped, scaled;
  std::size_t in_batch = 0;
  const double begin = now();
  for (std::size_t i = first; i < jpegs.size(); i += stride) {
    files.decode(jpegs[i], rgb);
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
