// Indices that come from data are checked before they are used. Internal to engine/cpu.
#pragma once

#include <atomic>

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/kernel/runtime_error.h"
#include "belfry/engine/cpu/kernel/strided_loop.h"

namespace belfry {

// Ends the run with a NumericError if an index is not in [0, limit). `shape` is that of the indices, for the text.
template <class Index>
void check_indices(const Index* indices, const Shape& shape, std::int64_t limit, const Node* origin) {
  const std::int64_t n = shape.elements();
  std::atomic<std::int64_t> first = n;
  parallel_for(n, kPointwiseGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (indices[i] >= 0 && indices[i] < limit) continue;
      std::int64_t known = first.load();
      while (i < known && !first.compare_exchange_weak(known, i)) {
      }
      return;
    }
  });
  const std::int64_t bad = first.load();
  if (bad == n) return;
  fail_numeric(origin, fmt::format("expected indices in [0, {}), got {} at {} of {}", limit, indices[bad],
                                   index_text(shape, bad), to_string(shape)));
}

}  // namespace belfry
