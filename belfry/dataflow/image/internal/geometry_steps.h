// Steps that several augmentors sample.
#pragma once

#include <opencv2/core.hpp>

#include "belfry/dataflow/image/geometry.h"
#include "belfry/dataflow/image/internal/image_step.h"

namespace belfry {

// A part that lies inside of the image.
class CropStep final : public ImageStep {
 public:
  explicit CropStep(cv::Rect part) : part_(part) {}
  void image(ImageView& image) const override { image.crop(part_); }
  void mask(ImageView& mask) const override { mask.crop(part_); }
  void points(std::span<float> points) const override;

 private:
  cv::Rect part_;
};

class ResizeStep final : public ImageStep {
 public:
  ResizeStep(cv::Size from, cv::Size to, Interpolation interpolation)
      : from_(from), to_(to), interpolation_(interpolation) {}
  void image(ImageView& image) const override { apply(image, interpolation_); }
  void mask(ImageView& mask) const override { apply(mask, Interpolation::nearest); }
  void points(std::span<float> points) const override;

 private:
  void apply(ImageView& picture, Interpolation interpolation) const;

  cv::Size from_, to_;
  Interpolation interpolation_;
};

}  // namespace belfry
