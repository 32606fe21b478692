#include "belfry/base/check.h"
#include "belfry/dataflow/image/geometry.h"
#include "belfry/dataflow/image/internal/border.h"
#include "belfry/dataflow/image/internal/geometry_steps.h"
#include "belfry/dataflow/image/internal/options.h"

namespace belfry {
namespace {

int random_offset(int room, RandomStream& random) {
  return room > 0 ? static_cast<int>(random.below(static_cast<std::uint64_t>(room) + 1)) : 0;
}

void check_fits(const char* where, const Sampling& sampling, const ImageSize& size, int padding, const char* remedy) {
  BELFRY_CHECK(sampling.height() + 2 * padding >= size.height && sampling.width() + 2 * padding >= size.width,
               "[{}] expected an image of at least {} x {} pixels, got {}. {}", where, size.height, size.width,
               to_string(sampling.shape), remedy);
}

}  // namespace

Augmentor center_crop(ImageSize size) {
  check_size("center_crop", size);
  return make_augmentor([=](Sampling& sampling, RandomStream&) {
    check_fits("center_crop", sampling, size, 0, "Resize it first.");
    const int x = (sampling.width() - size.width) / 2, y = (sampling.height() - size.height) / 2;
    sampling.add(CropStep({x, y, size.width, size.height}));
    sampling.set_size(size.height, size.width);
  });
}

Augmentor random_crop(ImageSize size, RandomCropOptions options) {
  check_size("random_crop", size);
  BELFRY_CHECK(options.padding >= 0 && options.padding <= 1 << 20,
               "[random_crop] expected a padding of 0 to 2^20 pixels, got {}.", options.padding);
  check_border("random_crop", options.border);
  return make_augmentor([=](Sampling& sampling, RandomStream& random) {
    const int padding = options.padding, height = sampling.height(), width = sampling.width();
    check_fits("random_crop", sampling, size, padding, "Resize it first, or give a padding.");
    const int x = random_offset(width + 2 * padding - size.width, random) - padding;
    const int y = random_offset(height + 2 * padding - size.height, random) - padding;
    const ImagePart part{x, y, size.width, size.height};
    if (x >= 0 && y >= 0 && x + size.width <= width && y + size.height <= height)
      sampling.add(CropStep(part));
    else
      sampling.add(PaddedCropStep(part, options.border));
    sampling.set_size(size.height, size.width);
  });
}

}  // namespace belfry
