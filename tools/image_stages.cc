#include "belfry/base/check.h"
#include "tools/flow_words.h"
#ifdef BELFRY_TOOLS_IMAGES
#include "belfry/dataflow/image/augmentor.h"
#include "belfry/dataflow/image/decode.h"
#include "belfry/dataflow/image/geometry.h"
#include "belfry/dataflow/image/mixup.h"
#include "belfry/dataflow/image/pixels.h"
#endif

namespace belfry::tools {

#ifdef BELFRY_TOOLS_IMAGES
namespace {

int threads_of(Call& call) { return call.count_or("threads", 0); }
int side_of(Call& call) { return call.count_or("side", 224); }

std::vector<float> floats(const std::vector<double>& numbers) { return {numbers.begin(), numbers.end()}; }

Interval to_range(const Call& call, const std::string& argument, const std::vector<double>& numbers) {
  BELFRY_CHECK(numbers.size() <= 2, "[{}] expected a number or a range, low;high, for {}, got {} numbers.", call.name,
               argument, numbers.size());
  return {numbers.front(), numbers.back()};
}
Interval range(Call& call, const std::string& argument) { return to_range(call, argument, call.numbers(argument)); }
Interval range_or(Call& call, const std::string& argument, const Interval& other) {
  return to_range(call, argument, call.numbers_or(argument, {other.low, other.high}));
}

// The word of an augmentor: arguments are those of the library's function, then seed and threads.
StageWord augmentor_word(std::vector<std::string> names, std::string usage, std::string meaning,
                         std::function<Augmentor(Call&)> make) {
  return {std::move(names), std::move(usage), std::move(meaning), [make = std::move(make)](Call& call) {
            Augmentor augmentor = make(call);
            const std::uint64_t seed = seed_of(call);
            return augment_images(std::move(augmentor), {.seed = seed, .threads = threads_of(call)});
          }};
}

Augmentor affine_of(Call& call) {
  const AffineOptions other;
  return affine({.degrees = range_or(call, "degrees", other.degrees),
                 .translate_x = call.number_or("translate_x", other.translate_x),
                 .translate_y = call.number_or("translate_y", other.translate_y),
                 .scale = range_or(call, "scale", other.scale),
                 .shear = range_or(call, "shear", other.shear)});
}

Augmentor normalize_of(Call& call) {
  const std::vector<float> mean = floats(call.numbers("mean"));
  return normalize(mean, floats(call.numbers("deviation")));
}

Augmentor color_jitter_of(Call& call) {
  return color_jitter({.brightness = call.number_or("brightness", 0),
                       .contrast = call.number_or("contrast", 0),
                       .saturation = call.number_or("saturation", 0),
                       .hue = call.number_or("hue", 0)});
}

Augmentor blur_of(Call& call) {
  const GaussianBlurOptions other;
  return gaussian_blur(
      {.sigma = range_or(call, "sigma", other.sigma), .kernel = call.count_or("kernel", other.kernel)});
}

Augmentor cutout_of(Call& call) {
  const CutoutOptions other;
  return cutout({.side = call.count_or("side", other.side),
                 .count = call.count_or("count", other.count),
                 .value = call.number_or("value", other.value)});
}

FlowStage mixup_of(Call& call) {
  return mixup({.alpha = call.number_or("alpha", MixupOptions{}.alpha),
                .classes = call.whole_or("classes", 0),
                .seed = seed_of(call),
                .threads = threads_of(call)});
}

}  // namespace

std::vector<StageWord> image_stage_words() {
  return {
      {{"decode", "decode_images"},
       "decode(threads=0, strict=false)",
       "component 0, bytes of an image's file, becomes the image; strict as in image_folder",
       [](Call& c) {
         const int threads = threads_of(c);
         return decode_images({.strict = c.flag_or("strict", false), .threads = threads});
       }},
      augmentor_word({"resize"}, "resize(side, seed=0, threads=0)", "to a square",
                     [](Call& c) { return resize(side_of(c)); }),
      augmentor_word({"resize_shortest"}, "resize_shortest(side, ...)", "the shorter side becomes that long",
                     [](Call& c) { return resize_shortest(side_of(c)); }),
      augmentor_word({"center_crop"}, "center_crop(side, ...)", "the middle",
                     [](Call& c) { return center_crop(side_of(c)); }),
      augmentor_word({"random_crop"}, "random_crop(side, padding=0, ...)", "a part at a random place",
                     [](Call& c) {
                       const int side = side_of(c);
                       return random_crop(side, {.padding = c.count_or("padding", 0)});
                     }),
      augmentor_word({"random_resized_crop"}, "random_resized_crop(side, ...)", "a part of random size, resized",
                     [](Call& c) { return random_resized_crop(side_of(c)); }),
      augmentor_word({"flip", "flip_horizontal"}, "flip(probability=0.5, ...)", "left becomes right",
                     [](Call& c) { return flip_horizontal(c.number_or("probability", 0.5)); }),
      augmentor_word({"flip_vertical"}, "flip_vertical(probability=0.5, ...)", "top becomes bottom",
                     [](Call& c) { return flip_vertical(c.number_or("probability", 0.5)); }),
      augmentor_word({"rotate"}, "rotate(degrees=low;high, ...)", "about the middle, counter-clockwise",
                     [](Call& c) { return rotate(range(c, "degrees")); }),
      augmentor_word({"affine"}, "affine(degrees=0, translate_x=0, translate_y=0, scale=1, shear=0)",
                     "turned, moved, scaled and sheared in one", affine_of),
      augmentor_word({"normalize"}, "normalize(mean, deviation, ...)", "(x - mean) / deviation: a number, or r;g;b",
                     normalize_of),
      augmentor_word({"to_float"}, "to_float(...)", "f32 in [0, 1]", [](Call&) { return to_float(); }),
      augmentor_word({"color_jitter"}, "color_jitter(brightness=0, contrast=0, saturation=0, hue=0, ...)",
                     "colours changed at random, up to so much", color_jitter_of),
      augmentor_word({"random_gamma"}, "random_gamma(gamma=low;high, ...)", "x ^ gamma",
                     [](Call& c) { return random_gamma(range(c, "gamma")); }),
      augmentor_word({"gaussian_noise"}, "gaussian_noise(deviation=low;high, ...)",
                     "added; 1 is the range from black to white",
                     [](Call& c) { return gaussian_noise(range(c, "deviation")); }),
      augmentor_word({"gaussian_blur"}, "gaussian_blur(sigma=0.1;2, kernel=0, ...)",
                     "in pixels; kernel 0: as large as sigma asks for", blur_of),
      augmentor_word({"jpeg_noise"}, "jpeg_noise(quality=low;high, ...)", "what saving as a JPEG does",
                     [](Call& c) { return jpeg_noise(range(c, "quality")); }),
      augmentor_word({"cutout"}, "cutout(side=8, count=1, value=0, ...)", "squares covered", cutout_of),
      {{"mixup"}, "mixup(alpha=0.2, classes=0, ...)", "batches, f32: mixtures of images and of their labels", mixup_of},
  };
}
#else
std::vector<StageWord> image_stage_words() { return {}; }
#endif

}  // namespace belfry::tools
