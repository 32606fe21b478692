// Rounds f32 numbers to the nearest bf16 number (the upper half of an f32), ties to even, and keeps them as f32. As in
// the CPUs' own conversions, subnormals become 0 of their sign and NaNs stay, quiet.
#pragma once

#include <cstdint>

namespace belfry::simd {

struct Bf16Kernels {
  void (*round)(const float* from, float* to, std::int64_t count);  // to may be from
};

}  // namespace belfry::simd

namespace belfry::avx2 {
extern const simd::Bf16Kernels kBf16;
}
namespace belfry::avx512 {
extern const simd::Bf16Kernels kBf16;
}
