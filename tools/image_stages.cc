#include "belfry/base/check.h"
#include "belfry/dataflow/image/geometry.h"
#include "belfry/dataflow/image/mixup.h"
#include "belfry/dataflow/image/pixels.h"
#include "tools/augmentor_word.h"

namespace belfry::tools {
namespace {

int side_of(Call& call) { return call.count_or("side", 224); }

std::vector<float> floats(const std::vector<double>& numbers) { return {numbers.begin(), numbers.end()}; }

BorderMode border_of(Call& call) {
  const std::string mode = call.text_or("border", "constant");
  if (mode == "replicate") return BorderMode::replicate;
  if (mode == "reflect") return BorderMode::reflect;
  BELFRY_CHECK(mode == "constant", "[{}] expected constant, replicate or reflect for border, got '{}'.", call.name,
               mode);
  return BorderMode::constant;
}

Augmentor pad_of(Call& call) {
  const int pixels = call.count_or("pixels", 4);
  const BorderMode mode = border_of(call);
  return pad(pixels, {.mode = mode, .value = call.number_or("value", 0)});
}

Augmentor normalize_of(Call& call) {
  const std::vector<float> mean = floats(call.numbers("mean"));
  return normalize(mean, floats(call.numbers("deviation")));
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
      augmentor_word({"resize"}, "resize(side, seed=0, threads=0)", "to a square",
                     [](Call& c) { return resize(side_of(c)); }),
      augmentor_word({"resize_shortest"}, "resize_shortest(side, ...)", "scales the shorter side to this length",
                     [](Call& c) { return resize_shortest(side_of(c)); }),
      augmentor_word({"pad"}, "pad(pixels=4, border=constant, value=0, ...)",
                     "on all sides; border may be replicate or reflect", pad_of),
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
      augmentor_word({"normalize"}, "normalize(mean, deviation, ...)", "(x - mean) / deviation: a number, or r;g;b",
                     normalize_of),
      augmentor_word({"to_float"}, "to_float(...)", "f32 in [0, 1]", [](Call&) { return to_float(); }),
      augmentor_word({"cutout"}, "cutout(side=8, count=1, value=0, ...)", "squares covered", cutout_of),
      {{"mixup"}, "mixup(alpha=0.2, classes=0, ...)", "batches, f32: mixtures of images and of their labels", mixup_of},
  };
}
}  // namespace belfry::tools
