#include "tools/flow_words.h"
#ifdef BELFRY_TOOLS_IMAGES
#include "belfry/dataflow/image/augmentor.h"
#include "belfry/dataflow/image/decode.h"
#include "belfry/dataflow/image/geometry.h"
#endif

namespace belfry::tools {

#ifdef BELFRY_TOOLS_IMAGES
namespace {

int threads_of(Call& call) { return call.count_or("threads", 0); }
int side_of(Call& call) { return call.count_or("side", 224); }

// The word of an augmentor: its arguments, then seed and threads.
StageWord augmentor_word(std::vector<std::string> names, std::string usage, std::string meaning,
                         std::function<Augmentor(Call&)> make) {
  return {std::move(names), std::move(usage), std::move(meaning), [make = std::move(make)](Call& call) {
            Augmentor augmentor = make(call);
            const std::uint64_t seed = seed_of(call);
            return augment_images(std::move(augmentor), {.seed = seed, .threads = threads_of(call)});
          }};
}

}  // namespace

std::vector<StageWord> image_stage_words() {
  return {
      {{"decode", "decode_images"},
       "decode(threads=0)",
       "component 0, bytes of a JPEG or PNG, becomes the image",
       [](Call& c) { return decode_images({.threads = threads_of(c)}); }},
      augmentor_word({"resize"}, "resize(side, seed=0, threads=0)", "to a square",
                     [](Call& c) { return resize(side_of(c)); }),
      augmentor_word({"resize_shortest"}, "resize_shortest(side, ...)", "the shorter side becomes that long",
                     [](Call& c) { return resize_shortest(side_of(c)); }),
      augmentor_word({"center_crop"}, "center_crop(side, ...)", "the middle",
                     [](Call& c) { return center_crop(side_of(c)); }),
      augmentor_word({"random_crop"}, "random_crop(side, ...)", "a part at a random place",
                     [](Call& c) { return random_crop(side_of(c)); }),
      augmentor_word({"random_resized_crop"}, "random_resized_crop(side, ...)", "a part of random size, resized",
                     [](Call& c) { return random_resized_crop(side_of(c)); }),
      augmentor_word({"flip", "flip_horizontal"}, "flip(seed=0, threads=0)", "left to right, every other image",
                     [](Call&) { return flip_horizontal(); }),
  };
}
#else
std::vector<StageWord> image_stage_words() { return {}; }
#endif

}  // namespace belfry::tools
