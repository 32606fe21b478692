#include <algorithm>
#include <cmath>

#include "belfry/base/check.h"
#include "belfry/dataflow/image/internal/image_step.h"
#include "belfry/dataflow/image/internal/scale_rows.h"
#include "belfry/dataflow/image/pixels.h"

namespace belfry {
namespace {

constexpr float kWhite = 255;

class NormalizeStep final : public ImageStep {
 public:
  NormalizeStep(std::vector<float> mean, std::vector<float> deviation) {
    for (std::size_t c = 0; c < 4; ++c) {
      const float m = mean[std::min(c, mean.size() - 1)], d = deviation[std::min(c, mean.size() - 1)];
      of_floats_.scale[c] = 1 / d;
      of_bytes_.scale[c] = 1 / (kWhite * d);
      of_floats_.shift[c] = of_bytes_.shift[c] = -m / d;
    }
  }
  void image(ImageView& image) const override {
    image.replace(scale_pixels(image, image.dtype() == u8 ? of_bytes_ : of_floats_));
  }

 private:
  ChannelScale of_bytes_, of_floats_;
};

class ToFloatStep final : public ImageStep {
 public:
  void image(ImageView& image) const override {
    if (image.dtype() == u8) by_white_.image(image);
  }

 private:
  NormalizeStep by_white_{{0}, {1}};
};

}  // namespace

Augmentor normalize(std::vector<float> mean, std::vector<float> deviation) {
  BELFRY_CHECK(!mean.empty() && mean.size() <= 4 && mean.size() == deviation.size(),
               "[normalize] expected as many means as deviations, 1 to 4, got {} and {}.", mean.size(),
               deviation.size());
  for (const float d : deviation)
    BELFRY_CHECK(d > 0 && std::isfinite(d), "[normalize] expected deviations above 0, got {}.", d);
  const auto given = static_cast<int>(mean.size());
  const auto step = std::make_shared<const NormalizeStep>(std::move(mean), std::move(deviation));
  return make_augmentor([=](Sampling& sampling, RandomStream&) {
    BELFRY_CHECK(given == 1 || given == sampling.channels(),
                 "[normalize] expected an image of {} channels, as there are means, got {}.", given,
                 to_string(sampling.shape));
    sampling.steps.push_back(step);
  });
}

Augmentor to_float() {
  const auto step = std::make_shared<const ToFloatStep>();
  return make_augmentor([=](Sampling& sampling, RandomStream&) { sampling.steps.push_back(step); });
}

}  // namespace belfry
