#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>
#include <vector>

#include "belfry/dataflow/image/internal/image_step.h"
#include "belfry/dataflow/image/internal/options.h"
#include "belfry/dataflow/image/opencv/colors.h"
#include "belfry/dataflow/image/opencv/internal/color.h"
#include "belfry/dataflow/image/opencv/internal/mats.h"
#include "belfry/dataflow/internal/permute.h"

namespace belfry {
namespace {

constexpr double kRed = 0.299, kGreen = 0.587, kBlue = 0.114;  // a colour's grey (ITU-R BT.601)

void adjust_brightness(cv::Mat& pixels, double factor) {
  pixels.convertTo(pixels, -1, factor);
  cut_to_range(pixels);
}

void adjust_contrast(cv::Mat& pixels, double factor) {
  const cv::Scalar mean = cv::mean(pixels);
  const double grey = pixels.channels() == 1 ? mean[0] : kRed * mean[0] + kGreen * mean[1] + kBlue * mean[2];
  pixels.convertTo(pixels, -1, factor, (1 - factor) * grey);
  cut_to_range(pixels);
}

void adjust_saturation(cv::Mat& pixels, double factor) {
  if (pixels.channels() == 1) return;
  const double rest = 1 - factor, r = rest * kRed, g = rest * kGreen, b = rest * kBlue;
  const cv::Matx33d mixed(factor + r, g, b, r, factor + g, b, r, g, factor + b);
  cv::transform(pixels, pixels, mixed);
  cut_to_range(pixels);
}

void turn_hue_of_bytes(cv::Mat& pixels, double turns) {
  const int shift = static_cast<int>(std::lround(turns * 256));
  cv::cvtColor(pixels, pixels, cv::COLOR_RGB2HSV_FULL);
  for (int y = 0; y < pixels.rows; ++y) {
    auto* hue = pixels.ptr<std::uint8_t>(y);
    for (int x = 0; x < pixels.cols; ++x, hue += 3) *hue = static_cast<std::uint8_t>(*hue + shift);
  }
  cv::cvtColor(pixels, pixels, cv::COLOR_HSV2RGB_FULL);
}

void turn_hue_of_floats(cv::Mat& pixels, double turns) {
  const auto degrees = static_cast<float>(turns * 360);
  cv::cvtColor(pixels, pixels, cv::COLOR_RGB2HSV);
  for (int y = 0; y < pixels.rows; ++y) {
    auto* hue = pixels.ptr<float>(y);
    for (int x = 0; x < pixels.cols; ++x, hue += 3) {
      *hue += degrees;
      if (*hue < 0) *hue += 360;
      if (*hue >= 360) *hue -= 360;
    }
  }
  cv::cvtColor(pixels, pixels, cv::COLOR_HSV2RGB);
}

void turn_hue(cv::Mat& pixels, double turns) {
  if (pixels.channels() == 1) return;
  if (pixels.depth() == CV_8U)
    turn_hue_of_bytes(pixels, turns);
  else
    turn_hue_of_floats(pixels, turns);
}

using Adjust = void (*)(cv::Mat&, double);

class AdjustStep final : public ImageStep {
 public:
  AdjustStep(Adjust adjust, double amount) : adjust_(adjust), amount_(amount) {}
  void image(ImageView& image) const override {
    change_pixels(image, [&](cv::Mat& pixels) { adjust_(pixels, amount_); });
  }

 private:
  Adjust adjust_;
  double amount_;
};

}  // namespace

void cut_to_range(cv::Mat& pixels) {
  if (pixels.depth() != CV_32F) return;  // OpenCV cuts bytes itself
  cv::min(pixels, 1.0, pixels);
  cv::max(pixels, 0.0, pixels);
}

void check_colours(const char* where, const Sampling& sampling) {
  BELFRY_CHECK(sampling.channels() == 1 || sampling.channels() == 3,
               "[{}] expected an image of 1 or 3 channels, got {}. Decode it without its transparency.", where,
               to_string(sampling.shape));
}

Augmentor color_jitter(ColorJitterOptions options) {
  const auto factor = [](const char* what, double amount) {
    check_interval("color_jitter", what, amount, 0, 100);
    return Interval(std::max(0.0, 1 - amount), 1 + amount);
  };
  const Interval brightness = factor("brightness", options.brightness), contrast = factor("contrast", options.contrast),
                 saturation = factor("saturation", options.saturation);
  check_interval("color_jitter", "hue", options.hue, 0, 0.5);
  struct Part {
    Adjust adjust;
    Interval amount;
  };
  std::vector<Part> parts;
  if (options.brightness > 0) parts.push_back({adjust_brightness, brightness});
  if (options.contrast > 0) parts.push_back({adjust_contrast, contrast});
  if (options.saturation > 0) parts.push_back({adjust_saturation, saturation});
  if (options.hue > 0) parts.push_back({turn_hue, {-options.hue, options.hue}});
  return make_augmentor([parts = std::move(parts)](Sampling& sampling, RandomStream& random) {
    check_colours("color_jitter", sampling);
    std::vector<Part> order = parts;
    permute(order, random.bits());
    for (const Part& part : order) sampling.add(AdjustStep(part.adjust, draw(part.amount, random)));
  });
}

}  // namespace belfry
