#include <algorithm>
#include <cmath>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "belfry/dataflow/image/internal/color.h"
#include "belfry/dataflow/image/internal/encoding.h"
#include "belfry/dataflow/image/internal/image_step.h"
#include "belfry/dataflow/image/internal/opencv_options.h"
#include "belfry/dataflow/image/internal/swap_channels.h"
#include "belfry/dataflow/image/pixels.h"

namespace belfry {
namespace {

class GammaStep final : public ImageStep {
 public:
  explicit GammaStep(double gamma) : gamma_(gamma) {}
  void image(ImageView& image) const override {
    cv::Mat& pixels = image.own_pixels();
    if (pixels.depth() == CV_32F) {
      cut_to_range(pixels);
      cv::pow(pixels, gamma_, pixels);
      return;
    }
    cv::Mat table(1, 256, CV_8U);
    for (int i = 0; i < 256; ++i)
      table.at<std::uint8_t>(i) = cv::saturate_cast<std::uint8_t>(255 * std::pow(i / 255.0, gamma_));
    cv::LUT(pixels, table, pixels);
  }

 private:
  double gamma_;
};

class NoiseStep final : public ImageStep {
 public:
  NoiseStep(double deviation, std::uint64_t seed) : deviation_(deviation), seed_(seed) {}
  void image(ImageView& image) const override {
    cv::Mat& pixels = image.own_pixels();
    const bool bytes = pixels.depth() == CV_8U;
    // As one channel: of several, OpenCV would give the deviation to the first.
    cv::Mat noise(pixels.size(), CV_MAKETYPE(bytes ? CV_16S : CV_32F, pixels.channels()));
    cv::Mat numbers = noise.reshape(1);
    cv::RNG(seed_).fill(numbers, cv::RNG::NORMAL, 0, deviation_ * white_of(pixels));
    cv::add(pixels, noise, pixels, cv::noArray(), pixels.depth());
    cut_to_range(pixels);
  }

 private:
  double deviation_;
  std::uint64_t seed_;
};

class BlurStep final : public ImageStep {
 public:
  BlurStep(double sigma, int kernel) : sigma_(sigma), kernel_(kernel) {}
  void image(ImageView& image) const override {
    cv::Mat made;
    cv::GaussianBlur(image.pixels(), made, {kernel_, kernel_}, sigma_, sigma_,
                     cv::BORDER_REFLECT_101 | cv::BORDER_ISOLATED);
    image.replace(std::move(made));
  }

 private:
  double sigma_;
  int kernel_;
};

class JpegStep final : public ImageStep {
 public:
  explicit JpegStep(int quality) : quality_(quality) {}
  void image(ImageView& image) const override {
    BELFRY_CHECK(image.depth() == CV_8U,
                 "[jpeg_noise] expected an image of u8, got f32. Put it before to_float() and "
                 "normalize().");
    const int channels = image.channels();
    const auto file = encode_mat(image.pixels(), ".jpg", {cv::IMWRITE_JPEG_QUALITY, quality_});
    cv::Mat made = cv::imdecode(file, channels == 1 ? cv::IMREAD_GRAYSCALE : cv::IMREAD_COLOR);
    if (channels == 3) swap_red_and_blue(made.ptr(), made.total());
    image.replace(std::move(made));
  }

 private:
  int quality_;
};

class CoverStep final : public ImageStep {
 public:
  CoverStep(std::vector<cv::Rect> parts, double value) : parts_(std::move(parts)), value_(value) {}
  void image(ImageView& image) const override {
    cv::Mat& pixels = image.own_pixels();
    for (const cv::Rect& part : parts_) pixels(part).setTo(in_all_channels(value_));
  }

 private:
  std::vector<cv::Rect> parts_;  // inside of the image
  double value_;
};

}  // namespace

Augmentor random_gamma(Interval gamma) {
  check_interval("random_gamma", "gamma", gamma, 1e-3, 1e3);
  return make_augmentor([=](Sampling& sampling, RandomStream& random) {
    check_colours("random_gamma", sampling);
    sampling.add(GammaStep(draw(gamma, random)));
  });
}

Augmentor gaussian_noise(Interval deviation) {
  check_interval("gaussian_noise", "the deviation", deviation, 0, 10);
  return make_augmentor([=](Sampling& sampling, RandomStream& random) {
    const double drawn = draw(deviation, random);
    const std::uint64_t high = random.bits();
    sampling.add(NoiseStep(drawn, (high << 32) | random.bits()));
  });
}

Augmentor gaussian_blur(GaussianBlurOptions options) {
  check_interval("gaussian_blur", "sigma", options.sigma, 1e-3, 1e3);
  BELFRY_CHECK(options.kernel == 0 || (options.kernel > 0 && options.kernel % 2 == 1),
               "[gaussian_blur] expected an odd kernel, or 0, got {}.", options.kernel);
  return make_augmentor([=](Sampling& sampling, RandomStream& random) {
    sampling.add(BlurStep(draw(options.sigma, random), options.kernel));
  });
}

Augmentor jpeg_noise(Interval quality) {
  check_interval("jpeg_noise", "the quality", quality, 1, 100);
  return make_augmentor([=](Sampling& sampling, RandomStream& random) {
    check_colours("jpeg_noise", sampling);
    sampling.add(JpegStep(static_cast<int>(std::lround(draw(quality, random)))));
  });
}

Augmentor cutout(CutoutOptions options) {
  BELFRY_CHECK(options.side > 0 && options.count > 0,
               "[cutout] expected squares with a side of 1 or more, got {} of {}.", options.count, options.side);
  return make_augmentor([=](Sampling& sampling, RandomStream& random) {
    const int width = sampling.width(), height = sampling.height(), side = options.side;
    std::vector<cv::Rect> parts;
    for (int i = 0; i < options.count; ++i) {
      const auto x = static_cast<int>(random.below(static_cast<std::uint64_t>(width)));
      const auto y = static_cast<int>(random.below(static_cast<std::uint64_t>(height)));
      parts.push_back(cv::Rect(x - side / 2, y - side / 2, side, side) & cv::Rect(0, 0, width, height));
    }
    sampling.add(CoverStep(std::move(parts), options.value));
  });
}

}  // namespace belfry
