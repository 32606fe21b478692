// f32 numbers rounded to the nearest that bf16 has (its upper half), ties to the even one, kept as f32. As the CPUs'
// own conversions do it, subnormals become 0 of their sign and NaNs stay, quiet.
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
