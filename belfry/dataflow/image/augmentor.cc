#include "belfry/dataflow/image/augmentor.h"

#include <algorithm>

#include "belfry/base/check.h"
#include "belfry/dataflow/image/internal/image_step.h"
#include "belfry/dataflow/internal/map_as.h"
#include "belfry/dataflow/internal/origin.h"

namespace belfry {
namespace {

class RandomApply final : public AugmentorImpl {
 public:
  RandomApply(double probability, Augmentor augmentor) : probability_(probability), augmentor_(std::move(augmentor)) {}
  void sample(Sampling& sampling, RandomStream& random) const override {
    if (chance(probability_, random)) sample_all(augmentor_, sampling, random);
  }

 private:
  double probability_;
  Augmentor augmentor_;
};

class RandomChoice final : public AugmentorImpl {
 public:
  explicit RandomChoice(std::vector<Augmentor> augmentors) : augmentors_(std::move(augmentors)) {}
  void sample(Sampling& sampling, RandomStream& random) const override {
    sample_all(augmentors_[random.below(augmentors_.size())], sampling, random);
  }

 private:
  std::vector<Augmentor> augmentors_;
};

class CustomStep final : public ImageStep {
 public:
  CustomStep(CustomTransform transform, const Shape& result) : transform_(std::move(transform)), result_(result) {}

  void image(ImageView& image) const override {
    if (!transform_.image) return;
    const Array made = transform_.image(image.to_array());
    BELFRY_CHECK(made.shape() == result_,
                 "[custom_augmentor] expected an image of shape {}, got {}. Say in CustomTransform::result what shape "
                 "comes out.",
                 to_string(result_), to_string(made.shape()));
    image = ImageView::of_image(made, "custom_augmentor");
  }
  void mask(ImageView& mask) const override {
    if (transform_.mask) mask = ImageView::of_mask(transform_.mask(mask.to_array()), "custom_augmentor");
    BELFRY_CHECK(mask.height() == result_[0] && mask.width() == result_[1],
                 "[custom_augmentor] expected a mask of {} x {} pixels, as the image has, got {} x {}. Let "
                 "CustomTransform::mask change it along with the image.",
                 result_[0], result_[1], mask.height(), mask.width());
  }
  void points(std::span<float> points) const override {
    if (!transform_.points) return;
    const Shape shape{static_cast<std::int64_t>(points.size() / 2), 2};
    const Array made = transform_.points(Array::of<float>(shape, std::span<const float>(points)));
    BELFRY_CHECK(made.dtype() == f32 && made.shape() == shape, "[custom_augmentor] expected points f32 {}, got {} {}.",
                 to_string(shape), name_of(made.dtype()), to_string(made.shape()));
    std::ranges::copy(made.values<float>(), points.begin());
  }

 private:
  CustomTransform transform_;
  Shape result_;
};

}  // namespace

void check_probability(const char* where, double probability) {
  BELFRY_CHECK(probability >= 0 && probability <= 1, "[{}] expected a probability from 0 to 1, got {}.", where,
               probability);
}

void check_image_shape(const char* where, const Shape& shape) {
  BELFRY_CHECK(shape.rank() == 3 && shape[0] > 0 && shape[1] > 0 && shape[2] > 0,
               "[{}] expected the shape of an image, [height, width, channels], got {}.", where, to_string(shape));
  BELFRY_CHECK(shape[0] <= kMaxSide && shape[1] <= kMaxSide,
               "[{}] expected an image of at most 2^28 x 2^28 pixels, got {}.", where, to_string(shape));
}

ImageTransform::ImageTransform(const Shape& from, const Shape& to, std::vector<std::shared_ptr<const ImageStep>> steps)
    : from_(from), to_(to), steps_(std::move(steps)) {}

Array ImageTransform::image(const Array& image) const {
  ImageView view = ImageView::of_image(image, "augment");
  BELFRY_CHECK(image.shape() == from_,
               "[augment] expected an image of shape {}, as the transform was sampled for, got {}.", to_string(from_),
               to_string(image.shape()));
  for (const auto& step : steps_) step->image(view);
  return view.to_array();
}

Array ImageTransform::mask(const Array& mask) const {
  ImageView view = ImageView::of_mask(mask, "augment");
  BELFRY_CHECK(mask.shape()[0] == from_[0] && mask.shape()[1] == from_[1],
               "[augment] expected a mask of {} x {} pixels, as the transform was sampled for, got {}.", from_[0],
               from_[1], to_string(mask.shape()));
  for (const auto& step : steps_) step->mask(view);
  return view.to_array();
}

Array ImageTransform::points(const Array& points) const {
  BELFRY_CHECK(points.dtype() == f32 && points.shape().rank() == 2 && points.shape()[1] == 2,
               "[augment] expected points, f32 [n, 2], got {} {}.", name_of(points.dtype()), to_string(points.shape()));
  Array moved = points.clone();
  for (const auto& step : steps_) step->points(moved.values<float>());
  return moved;
}

ImageTransform Augmentor::sample(const Shape& image, RandomStream& random) const {
  check_image_shape("augment", image);
  Sampling sampling{image, {}};
  for (const auto& impl : impls_) impl->sample(sampling, random);
  return {image, sampling.shape, std::move(sampling.steps)};
}

Augmentor operator|(Augmentor first, const Augmentor& second) {
  const auto added = second.impls_;  // `second` may be a part of `first`
  first.impls_.insert(first.impls_.end(), added.begin(), added.end());
  return first;
}

Augmentor random_apply(double probability, Augmentor augmentor) {
  check_probability("random_apply", probability);
  return Augmentor(std::make_shared<const RandomApply>(probability, std::move(augmentor)));
}

Augmentor random_choice(std::vector<Augmentor> augmentors) {
  BELFRY_CHECK(!augmentors.empty(), "[random_choice] expected at least one augmentor, got none.");
  return Augmentor(std::make_shared<const RandomChoice>(std::move(augmentors)));
}

Augmentor custom_augmentor(std::function<CustomTransform(const Shape& image, RandomStream& random)> sample) {
  BELFRY_CHECK(sample, "[custom_augmentor] expected a function, got an empty one.");
  return make_augmentor([sample = std::move(sample)](Sampling& sampling, RandomStream& random) {
    CustomTransform transform = sample(sampling.shape, random);
    if (transform.result) {
      check_image_shape("custom_augmentor", *transform.result);
      BELFRY_CHECK(transform.image || *transform.result == sampling.shape,
                   "[custom_augmentor] expected CustomTransform::image, which makes the image of shape {} that .result "
                   "promises, got none. Give both or neither.",
                   to_string(*transform.result));
      sampling.shape = *transform.result;
    }
    sampling.add(CustomStep(std::move(transform), sampling.shape));
  });
}

Array augment(const Array& image, const Augmentor& augmentor, RandomStream& random) {
  return augmentor.sample(image.shape(), random).image(image);
}

FlowStage augment_images(Augmentor augmentor, AugmentImagesOptions options) {
  const auto on_point = [augmentor = std::move(augmentor), options](DataPoint point, RandomStream& random) {
    for (const auto& component : {std::optional(options.image), options.mask, options.points})
      if (component) check_component("augment_images", point, *component);
    Array& image = point[options.image];
    const ImageTransform transform = augmentor.sample(image.shape(), random);
    image = with_origin(transform.image(image), origin_of(image));
    if (options.mask) point[*options.mask] = transform.mask(point[*options.mask]);
    if (options.points) point[*options.points] = transform.points(point[*options.points]);
    return point;
  };
  return map_as(
      "augment_images", on_point,
      {.seed = options.seed, .threads = options.threads, .ordered = options.ordered, .buffer = options.buffer});
}

}  // namespace belfry
