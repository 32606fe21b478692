#include <algorithm>

#include "belfry/dataflow/image/geometry.h"
#include "belfry/dataflow/image/internal/geometry_steps.h"
#include "belfry/dataflow/image/internal/opencv_options.h"

namespace belfry {
namespace {

void shift(std::span<float> points, int x, int y) {
  for (std::size_t i = 0; i + 1 < points.size(); i += 2) {
    points[i] -= static_cast<float>(x);
    points[i + 1] -= static_cast<float>(y);
  }
}

// A part that reaches over the image's edge.
class PaddedCropStep final : public ImageStep {
 public:
  PaddedCropStep(cv::Rect part, const Border& border) : part_(part), border_(border) {}
  void image(ImageView& image) const override { apply(image, border_.value); }
  void mask(ImageView& mask) const override { apply(mask, border_.mask_value); }
  void points(std::span<float> points) const override { shift(points, part_.x, part_.y); }

 private:
  void apply(ImageView& picture, double value) const {
    const cv::Rect all(0, 0, picture.width(), picture.height());
    // What lies outside is made of the pixels near the edge, which may not be those inside; a constant is not.
    const cv::Rect inside = border_.mode == BorderMode::constant ? part_ & all : all;
    if (inside.empty()) {
      picture.replace(cv::Mat(part_.size(), picture.stored().type(), in_all_channels(value)));
      return;
    }
    picture.crop(inside);
    const cv::Rect padded = inside | part_;
    cv::Mat made;
    cv::copyMakeBorder(picture.pixels(), made, inside.y - padded.y, padded.br().y - inside.br().y, inside.x - padded.x,
                       padded.br().x - inside.br().x, border_flag(border_.mode) | cv::BORDER_ISOLATED,
                       in_all_channels(value));
    picture.replace(std::move(made));
    picture.crop(part_ - padded.tl());
  }

  cv::Rect part_;
  Border border_;
};

int random_offset(int room, RandomStream& random) {
  return room > 0 ? static_cast<int>(random.below(static_cast<std::uint64_t>(room) + 1)) : 0;
}

void check_fits(const char* where, const Sampling& sampling, const ImageSize& size, int padding, const char* remedy) {
  BELFRY_CHECK(sampling.height() + 2 * padding >= size.height && sampling.width() + 2 * padding >= size.width,
               "[{}] expected an image of at least {} x {} pixels, got {}. {}", where, size.height, size.width,
               to_string(sampling.shape), remedy);
}

}  // namespace

void CropStep::points(std::span<float> points) const { shift(points, part_.x, part_.y); }

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
  border_flag(options.border.mode);
  return make_augmentor([=](Sampling& sampling, RandomStream& random) {
    const int padding = options.padding, height = sampling.height(), width = sampling.width();
    check_fits("random_crop", sampling, size, padding, "Resize it first, or give a padding.");
    const int x = random_offset(width + 2 * padding - size.width, random) - padding;
    const int y = random_offset(height + 2 * padding - size.height, random) - padding;
    const cv::Rect part(x, y, size.width, size.height);
    if ((part & cv::Rect(0, 0, width, height)) == part)
      sampling.add(CropStep(part));
    else
      sampling.add(PaddedCropStep(part, options.border));
    sampling.set_size(size.height, size.width);
  });
}

}  // namespace belfry
