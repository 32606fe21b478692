#include "belfry/base/check.h"
#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/cache.h"
#include "belfry/dataflow/fixed_size.h"
#include "belfry/dataflow/prefetch.h"
#include "belfry/dataflow/repeat.h"
#include "belfry/dataflow/repeat_each.h"
#include "belfry/dataflow/section.h"
#include "belfry/dataflow/select.h"
#include "belfry/dataflow/shard.h"
#include "belfry/dataflow/shuffle.h"
#include "tools/flow_words.h"

namespace belfry::tools {
namespace {

FlowStage batch_of(Call& call) {
  const auto points = call.whole_or("points", 32);
  const std::string remainder = call.text_or("remainder", "drop");
  BELFRY_CHECK(remainder == "drop" || remainder == "keep", "[batch] expected drop or keep for remainder, got '{}'.",
               remainder);
  return batch(points, remainder == "keep" ? Remainder::keep : Remainder::drop);
}

FlowStage select_of(Call& call) {
  std::vector<std::size_t> components;
  while (!call.positional.empty()) components.push_back(static_cast<std::size_t>(call.count_or("component", 0)));
  return select(components);
}

std::vector<StageWord> plain_stage_words() {
  return {
      {{"shuffle"},
       "shuffle(seed=0)",
       "all points, in another order each epoch",
       [](Call& c) { return shuffle(seed_of(c)); }},
      {{"shuffle_local"},
       "shuffle_local(buffer=1000, seed=0)",
       "for sources that can be read only in order",
       [](Call& c) {
         const auto buffer = c.whole_or("buffer", 1000);
         return shuffle_local(buffer, seed_of(c));
       }},
      {{"batch"}, "batch(points=32, remainder=drop)", "stacks points", batch_of},
      {{"batch_by_shape"},
       "batch_by_shape(points=32)",
       "stacks points of the same shape",
       [](Call& c) { return batch_by_shape(c.whole_or("points", 32)); }},
      {{"repeat"},
       "repeat(times=forever)",
       "several passes as one",
       [](Call& c) { return repeat(c.whole_or("times", kForever)); }},
      {{"repeat_each"},
       "repeat_each(times)",
       "each point several times",
       [](Call& c) { return repeat_each(c.whole_or("times", 2)); }},
      {{"fixed_size"},
       "fixed_size(points)",
       "passes with this many points",
       [](Call& c) { return fixed_size(c.whole_or("points", 1000)); }},
      {{"select"}, "select(1, 0)", "chooses and reorders components", select_of},
      {{"take"},
       "take(points)",
       "the first points of each pass",
       [](Call& c) { return take(c.whole_or("points", 10)); }},
      {{"skip"},
       "skip(points)",
       "each pass without its first points",
       [](Call& c) { return skip(c.whole_or("points", 10)); }},
      {{"shard"},
       "shard(rank, size)",
       "one of several equal parts",
       [](Call& c) {
         const auto rank = c.whole_or("rank", 0);
         return shard({.rank = rank, .size = c.whole_or("size", 1)});
       }},
      {{"cache", "cache_in_memory"}, "cache()", "keeps points in memory", [](Call&) { return cache_in_memory(); }},
      {{"prefetch"},
       "prefetch(depth=16)",
       "reads ahead on another thread",
       [](Call& c) { return prefetch(c.count_or("depth", 16)); }},
  };
}

}  // namespace

const std::vector<StageWord>& stage_words() {
  static const std::vector<StageWord> words = [] {
    std::vector<StageWord> out = plain_stage_words();
    for (StageWord& word : image_stage_words()) out.push_back(std::move(word));
    for (StageWord& word : opencv_stage_words()) out.push_back(std::move(word));
    return out;
  }();
  return words;
}

}  // namespace belfry::tools
