// A parallel loop with separate scratch memory for each thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "belfry/base/parallel.h"

namespace belfry {

// Calls body(begin, end, scratch) for contiguous shares of [0, n), at least `grain` each, one per thread; `scratch` is
// `bytes` of what was given for each thread of the team. Inline when one share suffices.
template <class Body>
void for_each_share(std::int64_t n, std::int64_t grain, void* scratch, std::size_t bytes, Body body) {
  const std::int64_t most = std::clamp<std::int64_t>(n / std::max<std::int64_t>(1, grain), 1, team_size());
  parallel_parts(static_cast<int>(most), [&](int part, int parts) {
    const std::int64_t begin = n * part / parts, end = n * (part + 1) / parts;
    if (begin < end)
      body(begin, end, static_cast<void*>(static_cast<std::byte*>(scratch) + bytes * static_cast<std::size_t>(part)));
  });
}

}  // namespace belfry
