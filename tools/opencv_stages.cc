#include "tools/flow_words.h"
#ifdef BELFRY_TOOLS_IMAGES
#include "belfry/base/check.h"
#include "belfry/dataflow/image/codecs/decode.h"
#include "belfry/dataflow/image/opencv/colors.h"
#include "belfry/dataflow/image/opencv/warp.h"
#include "tools/augmentor_word.h"
#endif

namespace belfry::tools {

#ifdef BELFRY_TOOLS_IMAGES
namespace {

Interval to_range(const Call& call, const std::string& argument, const std::vector<double>& numbers) {
  BELFRY_CHECK(numbers.size() <= 2, "[{}] expected a number or a range, low;high, for {}, got {} numbers.", call.name,
               argument, numbers.size());
  return {numbers.front(), numbers.back()};
}
Interval range(Call& call, const std::string& argument) { return to_range(call, argument, call.numbers(argument)); }
Interval range_or(Call& call, const std::string& argument, const Interval& other) {
  return to_range(call, argument, call.numbers_or(argument, {other.low, other.high}));
}

Augmentor affine_of(Call& call) {
  const AffineOptions other;
  return affine({.degrees = range_or(call, "degrees", other.degrees),
                 .translate_x = call.number_or("translate_x", other.translate_x),
                 .translate_y = call.number_or("translate_y", other.translate_y),
                 .scale = range_or(call, "scale", other.scale),
                 .shear = range_or(call, "shear", other.shear)});
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

}  // namespace

std::vector<StageWord> opencv_stage_words() {
  return {
      {{"decode", "decode_images"},
       "decode(threads=0, strict=false)",
       "decodes component 0, the bytes of an image file; strict as in image_folder",
       [](Call& c) {
         const int threads = threads_of(c);
         return decode_images({.strict = c.flag_or("strict", false), .threads = threads});
       }},
      augmentor_word({"rotate"}, "rotate(degrees=low;high, ...)", "about the middle, counter-clockwise",
                     [](Call& c) { return rotate(range(c, "degrees")); }),
      augmentor_word({"affine"}, "affine(degrees=0, translate_x=0, translate_y=0, scale=1, shear=0)",
                     "rotates, moves, scales and shears in one step", affine_of),
      augmentor_word({"color_jitter"}, "color_jitter(brightness=0, contrast=0, saturation=0, hue=0, ...)",
                     "changes colours at random, by at most this much", color_jitter_of),
      augmentor_word({"random_gamma"}, "random_gamma(gamma=low;high, ...)", "x ^ gamma",
                     [](Call& c) { return random_gamma(range(c, "gamma")); }),
      augmentor_word({"gaussian_noise"}, "gaussian_noise(deviation=low;high, ...)",
                     "adds noise; 1 is the range from black to white",
                     [](Call& c) { return gaussian_noise(range(c, "deviation")); }),
      augmentor_word({"gaussian_blur"}, "gaussian_blur(sigma=0.1;2, kernel=0, ...)",
                     "in pixels; kernel 0: as large as sigma asks for", blur_of),
      augmentor_word({"jpeg_noise"}, "jpeg_noise(quality=low;high, ...)", "what saving as a JPEG does",
                     [](Call& c) { return jpeg_noise(range(c, "quality")); }),
  };
}
#else
std::vector<StageWord> opencv_stage_words() { return {}; }
#endif

}  // namespace belfry::tools
