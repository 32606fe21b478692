// The source of an op's random numbers: block i of its stream in this step, whichever thread asks. Internal to
// engine/cpu.
#pragma once

#include <algorithm>

#include "belfry/base/parallel.h"
#include "belfry/base/random.h"
#include "belfry/engine/cpu/kernel/kernel.h"

namespace belfry {

inline constexpr std::int64_t kDrawGrain = 4096;  // minimum number of blocks of four per thread

struct Draws {
  PhiloxKey key;
  std::uint64_t step;

  PhiloxBlock block(std::int64_t index) const {
    const auto i = static_cast<std::uint64_t>(index);
    return philox({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32), static_cast<std::uint32_t>(step),
                   static_cast<std::uint32_t>(step >> 32)},
                  key);
  }
};

inline Draws draws(const Step& step, std::uint64_t op_seed) {
  const std::uint64_t seed = mix_seed(step.seed, op_seed);
  return {{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}, step.number};
}

// Calls body(block index, first element, number of elements up to 4).
template <class Body>
void for_each_block(std::int64_t elements, Body body) {
  parallel_for((elements + 3) / 4, kDrawGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      body(i, i * 4, static_cast<int>(std::min<std::int64_t>(elements - i * 4, 4)));
  });
}

// 24 bits: exact in both types, so that f32 never rounds up to 1.
inline double unit(std::uint32_t word) { return static_cast<double>(word >> 8) * 0x1p-24; }

// 53 bits of the first or second half of a block.
inline double fine_unit(const PhiloxBlock& words, int half) {
  const auto first = static_cast<std::size_t>(2 * half);
  const std::uint64_t bits = (static_cast<std::uint64_t>(words[first]) << 32 | words[first + 1]) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

inline std::uint64_t seed_attribute(const KernelContext& c) {
  return static_cast<std::uint64_t>(c.attributes->integer("seed"));
}

}  // namespace belfry
