// A loop over vectors of several rows at once.
#pragma once

#include "belfry/engine/cpu/vector/vec_memory.h"

namespace belfry::BELFRY_ISA {
namespace {

// body(at, memory) for each vector of n floats; the last may be part of one, and `memory` loads and stores accordingly.
template <class Body>
[[gnu::always_inline]] inline void for_each_vector(std::int64_t n, Body body) {
  std::int64_t at = 0;
  for (; at + kWidth <= n; at += kWidth) body(at, WholeVector{});
  if (at < n) body(at, PartialVector{static_cast<int>(n - at)});
}

}  // namespace
}  // namespace belfry::BELFRY_ISA
