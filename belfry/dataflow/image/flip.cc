#include "belfry/dataflow/image/geometry.h"
#include "belfry/dataflow/image/internal/image_step.h"

namespace belfry {
namespace {

class FlipStep final : public ImageStep {
 public:
  // `last` is the largest x or y of the image.
  FlipStep(bool horizontal, int last) : horizontal_(horizontal), last_(last) {}
  void image(ImageView& image) const override { image.flip(horizontal_, !horizontal_); }
  void mask(ImageView& mask) const override { image(mask); }
  void points(std::span<float> points) const override {
    for (std::size_t i = horizontal_ ? 0 : 1; i < points.size(); i += 2)
      points[i] = static_cast<float>(last_) - points[i];
  }

 private:
  bool horizontal_;
  int last_;
};

}  // namespace

Augmentor flip_horizontal(double probability) {
  check_probability("flip_horizontal", probability);
  return make_augmentor([=](Sampling& sampling, RandomStream& random) {
    if (chance(probability, random)) sampling.add(FlipStep(true, sampling.width() - 1));
  });
}

Augmentor flip_vertical(double probability) {
  check_probability("flip_vertical", probability);
  return make_augmentor([=](Sampling& sampling, RandomStream& random) {
    if (chance(probability, random)) sampling.add(FlipStep(false, sampling.height() - 1));
  });
}

}  // namespace belfry
