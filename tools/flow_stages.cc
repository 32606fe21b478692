#include "belfry/base/check.h"
#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/cache.h"
#include "belfry/dataflow/fixed_size.h"
#include "belfry/dataflow/prefetch.h"
#include "belfry/dataflow/repeat.h"
#include "belfry/dataflow/repeat_each.h"
#include "belfry/dataflow/select.h"
#include "belfry/dataflow/shard.h"
#include "belfry/dataflow/shuffle.h"
#include "tools/flow_words.h"
#ifdef BELFRY_TOOLS_IMAGES
#include "belfry/dataflow/image/augmentor.h"
#include "belfry/dataflow/image/decode.h"
#include "belfry/dataflow/image/geometry.h"
#endif

namespace belfry::tools {
namespace {

std::uint64_t seed_of(Call& call) { return static_cast<std::uint64_t>(call.whole_or("seed", 0)); }
int small_whole_or(Call& call, const char* argument, int other) {
  const std::int64_t value = call.whole_or(argument, other);
  BELFRY_CHECK(value >= 0 && value <= 1'000'000, "[{}] expected 0 to 1000000 for {}, got {}.", call.name, argument,
               value);
  return static_cast<int>(value);
}

FlowStage batch_of(Call& call) {
  const auto points = call.whole_or("points", 32);
  const std::string remainder = call.text_or("remainder", "drop");
  BELFRY_CHECK(remainder == "drop" || remainder == "keep", "[batch] expected drop or keep for remainder, got '{}'.",
               remainder);
  return batch(points, remainder == "keep" ? Remainder::keep : Remainder::drop);
}

FlowStage select_of(Call& call) {
  std::vector<std::size_t> components;
  while (!call.positional.empty()) components.push_back(static_cast<std::size_t>(small_whole_or(call, "component", 0)));
  return select(components);
}

#ifdef BELFRY_TOOLS_IMAGES
int threads_of(Call& call) { return small_whole_or(call, "threads", 0); }
FlowStage augmented(Call& call, Augmentor augmentor) {
  const std::uint64_t seed = seed_of(call);
  return augment_images(std::move(augmentor), {.seed = seed, .threads = threads_of(call)});
}
int side_of(Call& call) { return small_whole_or(call, "side", 224); }
#endif

}  // namespace

const std::vector<StageWord>& stage_words() {
  static const std::vector<StageWord> words{
      {"shuffle", "shuffle(seed=0)", "all points, another order each epoch",
       [](Call& c) { return shuffle(seed_of(c)); }},
      {"shuffle_local", "shuffle_local(buffer=1000, seed=0)", "for sources that can be read only in order",
       [](Call& c) {
         const auto buffer = c.whole_or("buffer", 1000);
         return shuffle_local(buffer, seed_of(c));
       }},
      {"batch", "batch(points=32, remainder=drop)", "points stacked", batch_of},
      {"batch_by_shape", "batch_by_shape(points=32)", "points of one shape stacked",
       [](Call& c) { return batch_by_shape(c.whole_or("points", 32)); }},
      {"repeat", "repeat(times=forever)", "several passes as one",
       [](Call& c) { return repeat(c.whole_or("times", kForever)); }},
      {"repeat_each", "repeat_each(times)", "each point several times",
       [](Call& c) { return repeat_each(c.whole_or("times", 2)); }},
      {"fixed_size", "fixed_size(points)", "passes of so many points",
       [](Call& c) { return fixed_size(c.whole_or("points", 1000)); }},
      {"select", "select(1, 0)", "components chosen and reordered", select_of},
      {"shard", "shard(rank, size)", "one of several equal parts",
       [](Call& c) {
         const auto rank = c.whole_or("rank", 0);
         return shard({.rank = rank, .size = c.whole_or("size", 1)});
       }},
      {"cache", "cache()", "kept in memory", [](Call&) { return cache_in_memory(); }},
      {"prefetch", "prefetch(depth=16)", "read ahead on another thread",
       [](Call& c) { return prefetch(small_whole_or(c, "depth", 16)); }},
#ifdef BELFRY_TOOLS_IMAGES
      {"decode", "decode(threads=0)", "component 0, bytes of a JPEG or PNG, becomes the image",
       [](Call& c) { return decode_images({.threads = threads_of(c)}); }},
      {"resize", "resize(side, seed=0, threads=0)", "to a square",
       [](Call& c) { return augmented(c, resize(side_of(c))); }},
      {"resize_shortest", "resize_shortest(side, ...)", "the shorter side becomes that long",
       [](Call& c) { return augmented(c, resize_shortest(side_of(c))); }},
      {"center_crop", "center_crop(side, ...)", "the middle",
       [](Call& c) { return augmented(c, center_crop(side_of(c))); }},
      {"random_crop", "random_crop(side, ...)", "a part at a random place",
       [](Call& c) { return augmented(c, random_crop(side_of(c))); }},
      {"random_resized_crop", "random_resized_crop(side, ...)", "a part of random size, resized",
       [](Call& c) { return augmented(c, random_resized_crop(side_of(c))); }},
      {"flip", "flip(seed=0, threads=0)", "left to right, every other image",
       [](Call& c) { return augmented(c, flip_horizontal()); }},
#endif
  };
  return words;
}

}  // namespace belfry::tools
