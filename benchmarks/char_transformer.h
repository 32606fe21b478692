// The network of the suite char_transformer, for training and for sampling.
#pragma once

#include "benchmarks/suite.h"

namespace belfry::bench {

namespace char_transformer {
constexpr std::int64_t kTime = 128, kFeatures = 128, kHeads = 4;
constexpr std::size_t kBlocks = 4;
constexpr int kCharacters = 65;
}  // namespace char_transformer

// Positions of a sequence whose earlier ones are in caches, one per block. The caches are replaced by extended ones.
struct CachedPart {
  std::vector<KeyValueCache>* caches = nullptr;  // null: the whole window
  Tensor position{};                             // of the first
};
// ids [batch, time] -> [batch, time, characters]
Tensor char_transformer_logits(const Tensor& ids, const CachedPart& part = {});

}  // namespace belfry::bench
