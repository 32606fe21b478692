// Fisher-Yates on counter-based numbers: the order is a function of the seed and the number of items alone.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "belfry/base/random.h"

namespace belfry {

template <class T>
void permute(std::vector<T>& items, std::uint64_t seed) {
  RandomStream random(seed);
  for (std::size_t left = items.size(); left > 1; --left) {
    const auto chosen = static_cast<std::size_t>(random.below(left));
    if (chosen != left - 1) std::swap(items[chosen], items[left - 1]);
  }
}

}  // namespace belfry
