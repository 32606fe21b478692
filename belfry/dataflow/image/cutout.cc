#include <algorithm>
#include <cstring>

#include "belfry/base/check.h"
#include "belfry/dataflow/image/internal/fill.h"
#include "belfry/dataflow/image/internal/image_step.h"
#include "belfry/dataflow/image/pixels.h"

namespace belfry {
namespace {

class CoverStep final : public ImageStep {
 public:
  CoverStep(std::vector<ImagePart> parts, double value) : parts_(std::move(parts)), value_(value) {}
  void image(ImageView& image) const override {
    std::byte* pixels = image.own();
    for (const ImagePart& part : parts_) {
      const std::vector<std::byte> row =
          filled_bytes(value_, image.dtype(), static_cast<std::size_t>(part.width * image.channels()));
      std::byte* to = pixels + image.step() * static_cast<std::size_t>(part.y) +
                      image.pixel_bytes() * static_cast<std::size_t>(part.x);
      for (int y = 0; y < part.height; ++y, to += image.step()) std::memcpy(to, row.data(), row.size());
    }
  }

 private:
  std::vector<ImagePart> parts_;  // inside the image
  double value_;
};

// The part of `side` places from `begin` on that lies within [0, length).
std::pair<int, int> cut(int begin, int side, int length) {
  const int first = std::max(begin, 0);
  return {first, std::min(begin + side, length) - first};
}

}  // namespace

Augmentor cutout(CutoutOptions options) {
  BELFRY_CHECK(options.side > 0 && options.count > 0,
               "[cutout] expected squares with a side of 1 or more, got {} of {}.", options.count, options.side);
  return make_augmentor([=](Sampling& sampling, RandomStream& random) {
    std::vector<ImagePart> parts;
    for (int i = 0; i < options.count; ++i) {
      const auto middle_x = static_cast<int>(random.below(static_cast<std::uint64_t>(sampling.width())));
      const auto middle_y = static_cast<int>(random.below(static_cast<std::uint64_t>(sampling.height())));
      const auto [x, width] = cut(middle_x - options.side / 2, options.side, sampling.width());
      const auto [y, height] = cut(middle_y - options.side / 2, options.side, sampling.height());
      parts.push_back({x, y, width, height});
    }
    sampling.add(CoverStep(std::move(parts), options.value));
  });
}

}  // namespace belfry
