// Augmentor: a random change of images, in two steps. It samples a transform, from an image's shape and random numbers;
// the transform is then applied to the image, and to what belongs to it: a mask, or points on it.
//
//   const Augmentor train = random_resized_crop(224) | flip_horizontal() | color_jitter({.brightness = 0.4}) |
//                           normalize({0.485, 0.456, 0.406}, {0.229, 0.224, 0.225});
//   image_folder("train") | shuffle() | augment_images(train, {.threads = 8}) | batch(64)
//
// The augmentors are in geometry.h and pixels.h. Images are as decode.h says. A mask is u8, i32 or f32 [height, width]
// or [height, width, channels]: it follows the image's geometry, each pixel from the nearest one, and no change of
// colour. Points are f32 [n, 2], x and y in pixels, where (0, 0) is the middle of the top left pixel: they follow the
// geometry, too, also out of the picture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "belfry/array/array.h"
#include "belfry/base/random.h"
#include "belfry/dataflow/flow.h"

#pragma GCC visibility push(default)
namespace belfry {

class AugmentorImpl;
class ImageStep;

// What an augmentor sampled for one image. May be applied any number of times, by several threads at once. A result may
// share memory with what it was made of.
class ImageTransform {
 public:
  ImageTransform(const Shape& from, const Shape& to, std::vector<std::shared_ptr<const ImageStep>> steps);

  // The image must have the shape that the transform was sampled for, and a mask its height and width.
  Array image(const Array& image) const;
  Array mask(const Array& mask) const;
  Array points(const Array& points) const;
  const Shape& result() const { return to_; }  // the shape of the image that comes out

 private:
  Shape from_, to_;
  std::vector<std::shared_ptr<const ImageStep>> steps_;
};

// A value: copies are cheap and mean the same. Any thread may use one.
class Augmentor {
 public:
  Augmentor() = default;  // changes nothing
  explicit Augmentor(std::shared_ptr<const AugmentorImpl> impl) : impls_{std::move(impl)} {}

  // `image` is the shape of an image, [height, width, channels].
  ImageTransform sample(const Shape& image, RandomStream& random) const;

  friend Augmentor operator|(Augmentor first, const Augmentor& second);

 private:
  friend class AugmentorImpl;
  std::vector<std::shared_ptr<const AugmentorImpl>> impls_;
};

// One after the other.
Augmentor operator|(Augmentor first, const Augmentor& second);
// The augmentor, with that probability.
Augmentor random_apply(double probability, Augmentor augmentor);
// One of them, each as likely as the others.
Augmentor random_choice(std::vector<Augmentor> augmentors);

// A transform of your own. A function that is not given changes nothing. If the image's height or width changes, masks
// must follow.
struct CustomTransform {
  std::function<Array(Array)> image = nullptr, mask = nullptr, points = nullptr;
  std::optional<Shape> result = std::nullopt;  // the image's shape afterwards, if that is another one
};
Augmentor custom_augmentor(std::function<CustomTransform(const Shape& image, RandomStream& random)> sample);

// Samples and applies in one.
Array augment(const Array& image, const Augmentor& augmentor, RandomStream& random);

struct AugmentImagesOptions {
  std::size_t image = 0;                           // the component that is the image
  std::optional<std::size_t> mask = std::nullopt;  // those that are changed along with it
  std::optional<std::size_t> points = std::nullopt;
  // As in MapOptions.
  std::uint64_t seed = 0;
  int threads = 0;
  bool ordered = true;
  int buffer = 0;
};

// The stage: each point's transform comes from (seed, epoch, index).
FlowStage augment_images(Augmentor augmentor, AugmentImagesOptions options = {});

}  // namespace belfry
#pragma GCC visibility pop
