// Mixup (Zhang et al. 2018): training on mixtures of images, with mixtures of their labels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "belfry/dataflow/flow.h"

#pragma GCC visibility push(default)
namespace belfry {

struct MixupOptions {
  double alpha = 0.2;        // lambda is from Beta(alpha, alpha); 0: nothing is mixed
  std::int64_t classes = 0;  // how many; needed if labels are numbers
  std::size_t image = 0;     // the components: f32 [n, ...], and
  std::size_t label = 1;     // i32 [n], or f32 [n, classes]
  // As in MapOptions.
  std::uint64_t seed = 0;
  int threads = 0;
  bool ordered = true;
  int buffer = 0;
};

// For batches: each image becomes lambda * it + (1 - lambda) * another of its batch, and so do the labels, which become
// f32 [n, classes] (one-hot, if they were numbers). Lambda, one per batch, and which image is mixed with which come
// from (seed, epoch, index).
//
//   ... | augment_images(...) | batch(128) | mixup({.alpha = 0.2, .classes = 10})
FlowStage mixup(MixupOptions options);

}  // namespace belfry
#pragma GCC visibility pop
