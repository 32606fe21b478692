// Steps that several augmentors sample.
#pragma once

#include "belfry/dataflow/image/geometry.h"
#include "belfry/dataflow/image/internal/image_step.h"

namespace belfry {

// A part that lies inside the image.
class CropStep final : public ImageStep {
 public:
  explicit CropStep(const ImagePart& part) : part_(part) {}
  void image(ImageView& image) const override { image.crop(part_); }
  void mask(ImageView& mask) const override { mask.crop(part_); }
  void points(std::span<float> points) const override;

 private:
  ImagePart part_;
};

// A part that may reach over the image's edges.
class PaddedCropStep final : public ImageStep {
 public:
  PaddedCropStep(const ImagePart& part, const Border& border) : part_(part), border_(border) {}
  void image(ImageView& image) const override;
  void mask(ImageView& mask) const override;
  void points(std::span<float> points) const override;

 private:
  ImagePart part_;
  Border border_;
};

class ResizeStep final : public ImageStep {
 public:
  ResizeStep(ImageSize from, ImageSize to, Interpolation interpolation)
      : from_(from), to_(to), interpolation_(interpolation) {}
  void image(ImageView& image) const override { apply(image, interpolation_); }
  void mask(ImageView& mask) const override { apply(mask, Interpolation::nearest); }
  void points(std::span<float> points) const override;

 private:
  void apply(ImageView& picture, Interpolation interpolation) const;

  ImageSize from_, to_;
  Interpolation interpolation_;
};

}  // namespace belfry
