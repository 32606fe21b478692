#include <algorithm>
#include <cmath>
#include <opencv2/imgproc.hpp>

#include "belfry/dataflow/image/codecs/internal/decoded.h"
#include "belfry/dataflow/image/codecs/internal/write_jpeg.h"
#include "belfry/dataflow/image/internal/image_step.h"
#include "belfry/dataflow/image/internal/options.h"
#include "belfry/dataflow/image/opencv/colors.h"
#include "belfry/dataflow/image/opencv/internal/color.h"
#include "belfry/dataflow/image/opencv/internal/mats.h"

namespace belfry {
namespace {

class GammaStep final : public ImageStep {
 public:
  explicit GammaStep(double gamma) : gamma_(gamma) {}
  void image(ImageView& image) const override {
    change_pixels(image, [&](cv::Mat& pixels) { apply(pixels); });
  }

 private:
  void apply(cv::Mat& pixels) const {
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

  double gamma_;
};

class NoiseStep final : public ImageStep {
 public:
  NoiseStep(double deviation, std::uint64_t seed) : deviation_(deviation), seed_(seed) {}
  void image(ImageView& image) const override {
    change_pixels(image, [&](cv::Mat& pixels) { apply(pixels); });
  }

 private:
  void apply(cv::Mat& pixels) const {
    const bool bytes = pixels.depth() == CV_8U;
    // As one channel: of several, OpenCV would give the deviation to the first.
    cv::Mat noise(pixels.size(), CV_MAKETYPE(bytes ? CV_16S : CV_32F, pixels.channels()));
    cv::Mat numbers = noise.reshape(1);
    cv::RNG(seed_).fill(numbers, cv::RNG::NORMAL, 0, deviation_ * white_of(pixels));
    cv::add(pixels, noise, pixels, cv::noArray(), pixels.depth());
    cut_to_range(pixels);
  }

  double deviation_;
  std::uint64_t seed_;
};

class BlurStep final : public ImageStep {
 public:
  BlurStep(double sigma, int kernel) : sigma_(sigma), kernel_(kernel) {}
  void image(ImageView& image) const override {
    remake_pixels(image, [&](const cv::Mat& pixels, cv::Mat& made) {
      cv::GaussianBlur(pixels, made, {kernel_, kernel_}, sigma_, sigma_, cv::BORDER_REFLECT_101 | cv::BORDER_ISOLATED);
    });
  }

 private:
  double sigma_;
  int kernel_;
};

class JpegStep final : public ImageStep {
 public:
  explicit JpegStep(int quality) : quality_(quality) {}
  void image(ImageView& image) const override {
    BELFRY_CHECK(image.dtype() == u8,
                 "[jpeg_noise] expected an image of u8, got f32. Put it before to_float() and "
                 "normalize().");
    image.settle();
    const BytePixels pixels{.first = reinterpret_cast<const std::uint8_t*>(image.stored_row(0)),
                            .height = image.height(),
                            .width = image.width(),
                            .channels = image.channels(),
                            .step = image.step()};
    const std::string file = write_jpeg("jpeg_noise", pixels, quality_);
    image.replace(decode_picture({.where = "jpeg_noise",
                                  .bytes = std::as_bytes(std::span(file)),
                                  .options = {.channels = ImageChannels::unchanged}}));
  }

 private:
  int quality_;
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

}  // namespace belfry
