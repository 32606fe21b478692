// Layer norm of [rows][n] over n. A row is one thread's work and summed in a fixed order.
#pragma once

#include <cstdint>

namespace belfry::simd {

// y = (x - mean) rstd gamma + beta, where x is `input`, or the sum of `input` and `residual`, which is stored then.
struct LayerNormArgs {
  const float* input = nullptr;
  const float* residual = nullptr;  // null: none
  float* sum = nullptr;             // input + residual; may be either. Null without a residual
  const float* gamma = nullptr;
  const float* beta = nullptr;
  float* y = nullptr;     // may be input, if there is no residual
  float* mean = nullptr;  // [rows]
  float* rstd = nullptr;  // [rows]
  std::int64_t n = 0;
  float epsilon = 0;
};

// dx = rstd (g - E[g] - xhat E[g xhat]) with g = dy gamma and xhat = (x - mean) rstd; plus `residual`, if there is one.
struct LayerNormGradArgs {
  const float* dy = nullptr;
  const float* x = nullptr;
  const float* gamma = nullptr;
  const float* mean = nullptr;
  const float* rstd = nullptr;
  const float* residual = nullptr;  // added to dx; null: none
  float* dx = nullptr;              // may be dy, x or residual
  float* dgamma = nullptr;          // [n], dy xhat is added to it
  float* dbeta = nullptr;           // [n], dy is added to it
  std::int64_t n = 0;
};

// Each works on the rows [begin, end).
struct LayerNormKernels {
  void (*forward)(const LayerNormArgs&, std::int64_t begin, std::int64_t end);
  void (*backward)(const LayerNormGradArgs&, std::int64_t begin, std::int64_t end);
};

}  // namespace belfry::simd

namespace belfry::avx2 {
extern const simd::LayerNormKernels kLayerNorm;
}
namespace belfry::avx512 {
extern const simd::LayerNormKernels kLayerNorm;
}
