#include "belfry/dataflow/image/opencv/warp.h"

#include <cmath>
#include <numbers>
#include <opencv2/imgproc.hpp>

#include "belfry/dataflow/image/internal/border.h"
#include "belfry/dataflow/image/internal/image_step.h"
#include "belfry/dataflow/image/internal/interpolations.h"
#include "belfry/dataflow/image/internal/options.h"
#include "belfry/dataflow/image/opencv/internal/mats.h"
#include "belfry/dataflow/image/opencv/internal/opencv_options.h"

namespace belfry {
namespace {

// The place (x, y) of a pixel becomes matrix * (x, y, 1).
class WarpStep final : public ImageStep {
 public:
  WarpStep(const cv::Matx23d& matrix, const WarpOptions& options) : matrix_(matrix), options_(options) {}

  void image(ImageView& image) const override {
    apply(image, warp_flag(options_.interpolation), options_.border.value);
  }
  void mask(ImageView& mask) const override { apply(mask, cv::INTER_NEAREST, options_.border.mask_value); }
  void points(std::span<float> points) const override {
    for (std::size_t i = 0; i + 1 < points.size(); i += 2) {
      const cv::Vec2d to = matrix_ * cv::Vec3d(points[i], points[i + 1], 1);
      points[i] = static_cast<float>(to[0]);
      points[i + 1] = static_cast<float>(to[1]);
    }
  }

 private:
  void apply(ImageView& picture, int interpolation, double value) const {
    remake_pixels(picture, [&](const cv::Mat& from, cv::Mat& made) {
      cv::warpAffine(from, made, matrix_, from.size(), interpolation, border_flag(options_.border.mode),
                     in_all_channels(value));
    });
  }

  cv::Matx23d matrix_;
  WarpOptions options_;
};

struct Motion {
  double degrees = 0, scale = 1, shear = 0;  // about the middle
  double move_x = 0, move_y = 0;             // pixels
};

// turn * scale * shear about the middle, then the move. y points down, so counter-clockwise is (c, s; -s, c).
cv::Matx23d matrix_of(const Motion& motion, const Sampling& sampling) {
  const double angle = motion.degrees * std::numbers::pi / 180;
  const double c = motion.scale * std::cos(angle), s = motion.scale * std::sin(angle);
  const double k = std::tan(motion.shear * std::numbers::pi / 180);
  const cv::Matx22d turn(c, s, -s, c), shear(1, k, 0, 1);
  const cv::Matx22d m = turn * shear;
  const cv::Vec2d middle((sampling.width() - 1) / 2.0, (sampling.height() - 1) / 2.0);
  const cv::Vec2d shift = middle + cv::Vec2d(motion.move_x, motion.move_y) - m * middle;
  return {m(0, 0), m(0, 1), shift[0], m(1, 0), m(1, 1), shift[1]};
}

void check_warp(const char* where, const WarpOptions& options) {
  check_interpolation(where, options.interpolation);
  check_border(where, options.border);
}

}  // namespace

Augmentor rotate(Interval degrees, WarpOptions options) {
  check_interval("rotate", "the angle", degrees, -360, 360);
  check_warp("rotate", options);
  return make_augmentor([=](Sampling& sampling, RandomStream& random) {
    sampling.add(WarpStep(matrix_of({.degrees = draw(degrees, random)}, sampling), options));
  });
}

Augmentor affine(AffineOptions options) {
  check_interval("affine", "the angle", options.degrees, -360, 360);
  check_interval("affine", "the scale", options.scale, 1e-3, 1e3);
  check_interval("affine", "the shear", options.shear, -89, 89);
  check_interval("affine", "translate_x", options.translate_x, 0, 1);
  check_interval("affine", "translate_y", options.translate_y, 0, 1);
  const WarpOptions warp{options.interpolation, options.border};
  check_warp("affine", warp);
  return make_augmentor([=](Sampling& sampling, RandomStream& random) {
    Motion motion;
    motion.degrees = draw(options.degrees, random);
    motion.scale = draw(options.scale, random);
    motion.shear = draw(options.shear, random);
    motion.move_x = draw({-options.translate_x, options.translate_x}, random) * sampling.width();
    motion.move_y = draw({-options.translate_y, options.translate_y}, random) * sampling.height();
    sampling.add(WarpStep(matrix_of(motion, sampling), warp));
  });
}

}  // namespace belfry
