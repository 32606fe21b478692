// Loops over the channels of plain tensors, one thread per channel. Internal to engine.
#pragma once

#include <algorithm>
#include <cstdint>

#include "belfry/base/parallel.h"
#include "belfry/engine/cpu/kernel/kernel.h"

namespace belfry {

// x as [outer, channels, inner]
struct ChannelGeometry {
  std::int64_t outer = 0, channels = 0, inner = 0;
  std::int64_t count() const { return outer * inner; }
};

inline int channel_axis_of(const KernelContext& c) { return static_cast<int>(c.attributes->integer("axis")); }

inline ChannelGeometry channel_geometry(const KernelContext& c, int input) {
  const Shape& x = c.input(input).shape;
  const int axis = channel_axis_of(c);
  return {x.slice(0, axis).elements(), x[axis], x.slice(axis + 1, x.rank()).elements()};
}

// Calls body(offset) for every element of a channel.
template <class Body>
void for_each_element(const ChannelGeometry& g, std::int64_t channel, Body body) {
  for (std::int64_t o = 0; o < g.outer; ++o) {
    const std::int64_t at = (o * g.channels + channel) * g.inner;
    for (std::int64_t i = 0; i < g.inner; ++i) body(at + i);
  }
}

template <class Body>
void for_each_channel(const ChannelGeometry& g, Body body) {
  constexpr std::int64_t kGrain = 1 << 14;  // minimum number of elements per thread
  parallel_for(g.channels, kGrain / std::max<std::int64_t>(g.count(), 1) + 1,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t c = begin; c < end; ++c) body(c);
               });
}

}  // namespace belfry
