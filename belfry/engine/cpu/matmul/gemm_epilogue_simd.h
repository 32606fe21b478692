// Operations on rows of a product while they are still in the cache: [rows][n], rows side by side.
#pragma once

#include <cstdint>

namespace belfry::simd {

// y becomes gelu(y).
struct GeluRows {
  float* y = nullptr;
  float* before = nullptr;  // what y was; null: not wanted
  float* slope = nullptr;   // gelu'(what y was); null: not wanted
  std::int64_t count = 0;   // of elements
};

// y becomes y * factor, and the sum of each column is added to `sums`.
struct ScaledRows {
  float* y = nullptr;
  const float* factor = nullptr;
  float* sums = nullptr;  // [n]; null: not wanted
  std::int64_t rows = 0, n = 0;
};

struct GemmEpilogueKernels {
  void (*gelu)(const GeluRows&);
  void (*scale)(const ScaledRows&);
};

}  // namespace belfry::simd

namespace belfry::avx2 {
extern const simd::GemmEpilogueKernels kGemmEpilogue;
}
namespace belfry::avx512 {
extern const simd::GemmEpilogueKernels kGemmEpilogue;
}
