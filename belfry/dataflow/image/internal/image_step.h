// What augmentors are made of. An AugmentorImpl samples ImageSteps; an ImageTransform applies them in a row.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "belfry/base/random.h"
#include "belfry/dataflow/image/augmentor.h"
#include "belfry/dataflow/image/internal/image_view.h"

#pragma GCC visibility push(default)
namespace belfry {

// One change, with all that is random in it settled. Steps know the size of the image that they are for: they are
// applied to no other.
class ImageStep {
 public:
  virtual ~ImageStep() = default;
  virtual void image(ImageView& image) const = 0;
  // As they stand, for steps that change no geometry.
  virtual void mask(ImageView&) const {}
  virtual void points(std::span<float>) const {}  // x, y, x, y, ...
};

// Longer sides are refused, so that sides with a padding, or times channels, fit int.
constexpr std::int64_t kMaxSide = 1 << 28;
// Throws "[where] ..." unless it is [height, width, channels], none of them 0 or too large.
void check_image_shape(const char* where, const Shape& shape);

// The steps so far, and the shape of the image after them.
struct Sampling {
  Shape shape;
  std::vector<std::shared_ptr<const ImageStep>> steps;

  int height() const { return static_cast<int>(shape[0]); }
  int width() const { return static_cast<int>(shape[1]); }
  int channels() const { return static_cast<int>(shape[2]); }
  void set_size(int height, int width) { shape = {height, width, shape[2]}; }
  template <class Step>
  void add(Step step) {
    steps.push_back(std::make_shared<const Step>(std::move(step)));
  }
};

class AugmentorImpl {
 public:
  virtual ~AugmentorImpl() = default;
  virtual void sample(Sampling& sampling, RandomStream& random) const = 0;

 protected:
  static void sample_all(const Augmentor& augmentor, Sampling& sampling, RandomStream& random) {
    for (const auto& impl : augmentor.impls_) impl->sample(sampling, random);
  }
};

// An augmentor of a function (Sampling&, RandomStream&).
template <class Sample>
Augmentor make_augmentor(Sample sample) {
  class Impl final : public AugmentorImpl {
   public:
    explicit Impl(Sample function) : function_(std::move(function)) {}
    void sample(Sampling& sampling, RandomStream& random) const override { function_(sampling, random); }

   private:
    Sample function_;
  };
  return Augmentor(std::make_shared<const Impl>(std::move(sample)));
}

inline bool chance(double probability, RandomStream& random) { return random.uniform() < probability; }
void check_probability(const char* where, double probability);

}  // namespace belfry
#pragma GCC visibility pop
