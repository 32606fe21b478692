// The network of both programs: embedded characters and places, blocks of causal attention, logits of what follows.
#pragma once

#include <belfry/belfry.h>

#include <vector>

struct NetworkSizes {
  static constexpr std::int64_t kHeadFeatures = 32;  // of each head of attention

  std::int64_t characters = 0;  // with the vocabulary's unknown one
  std::int64_t window = 128;    // characters that it looks at
  std::int64_t features = 96;   // a multiple of kHeadFeatures
  std::int64_t blocks = 3;
};

// The sizes that a run was trained with, from the shapes of its variables.
NetworkSizes sizes_in(const belfry::Checkpoint& checkpoint);

class Network {
 public:
  explicit Network(const NetworkSizes& sizes, double dropout = 0) : sizes_(sizes), dropout_(dropout) {}

  // Logits [batch, n, characters] of characters [batch, n], the first of which begins a window.
  belfry::Tensor operator()(const belfry::Tensor& ids) const;
  // The same for characters from a place in the window on; earlier ones are in the caches, one per block. This is a
  // belfry::DecodeFunction.
  belfry::Tensor operator()(const belfry::Tensor& ids, const belfry::Tensor& position,
                            std::vector<belfry::KeyValueCache>& caches) const;

  // Options of a cache for one window.
  belfry::KeyValueCacheOptions cache() const { return {.capacity = sizes_.window, .units = sizes_.features}; }
  const NetworkSizes& sizes() const { return sizes_; }

 private:
  belfry::Tensor logits(const belfry::Tensor& ids, const belfry::Tensor& position,
                        std::vector<belfry::KeyValueCache>* caches) const;

  NetworkSizes sizes_;
  double dropout_;
};
