// Random numbers from Philox 4x32-10. Element i is made from word i % 4 of belfry::philox({block, step}, key) with
// block = first_block + i / 4, both 64-bit numbers low word first: a function of the source and i alone, whatever the
// vector width or the thread.
#pragma once

#include <cstdint>

namespace belfry::simd {

struct RandomSource {
  std::uint32_t key[2] = {0, 0};
  std::uint64_t step = 0;
  std::uint64_t first_block = 0;  // a multiple of 16: where a shard of a larger tensor begins
};

// Ranges of elements begin at multiples of this.
constexpr std::int64_t kRandomGroup = 64;

// y = keep(i) ? x * scale : 0; keep(i) is the i-th number's upper 24 bits < threshold. y may be x.
struct DropoutArgs {
  RandomSource source;
  const float* x = nullptr;
  float* y = nullptr;
  float scale = 1;
  std::int32_t threshold = 1 << 24;
};

struct RandomKernels {
  void (*dropout)(const DropoutArgs&, std::int64_t begin, std::int64_t end);
};

}  // namespace belfry::simd

namespace belfry::avx2 {
extern const simd::RandomKernels kRandom;
}
namespace belfry::avx512 {
extern const simd::RandomKernels kRandom;
}
