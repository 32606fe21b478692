#include "belfry/engine/cpu/random/random_simd.h"

#include "belfry/engine/cpu/random/philox.h"
#include "belfry/engine/cpu/vector/lanes.h"

namespace belfry::BELFRY_ISA {
namespace {

using simd::RandomSource;

// Makes the numbers of [begin, end) and calls use(first element, vector of numbers, how many of them count).
template <class Use>
[[gnu::always_inline]] inline void generate(const RandomSource& source, std::int64_t begin, std::int64_t end, Use use) {
  for (std::int64_t i = begin; i < end; i += 4 * kWidth) {
    const std::uint64_t block = source.first_block + static_cast<std::uint64_t>(i) / 4;
    const Words words = in_order(philox(source, block));
    for (int w = 0; w < 4; ++w) {
      const std::int64_t at = i + w * kWidth, left = end - at;
      if (left > 0) use(at, words.word[w], left < kWidth ? left : kWidth);
    }
  }
}

inline void store_some(float* to, Vec v, std::int64_t n) { n == kWidth ? store(to, v) : store_first(to, v, n); }

void dropout(const simd::DropoutArgs& args, std::int64_t begin, std::int64_t end) {
  generate(args.source, begin, end, [&](std::int64_t at, UintVec number, std::int64_t n) {
    const Vec x = n == kWidth ? load(args.x + at) : load_first(args.x + at, n);
    store_some(args.y + at, select((IntVec)(number >> 8) < args.threshold, x * args.scale, Vec{}), n);
  });
}

}  // namespace

const simd::RandomKernels kRandom = {dropout};

}  // namespace belfry::BELFRY_ISA
