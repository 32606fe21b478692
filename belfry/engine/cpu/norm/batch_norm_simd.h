// The passes that batch normalisation is made of, over the part of one group of channels that a Run describes.
// All tables are per lane. Without a mask everything passes.
#pragma once

#include "belfry/engine/cpu/vector/run.h"

namespace belfry::simd {

// sum = sum(x - center), square_sum = sum((x - center)^2)
struct BatchMoments {
  Run run;
  const float* x = nullptr;
  const float* center = nullptr;
  float* sum = nullptr;
  float* square_sum = nullptr;
};

// y = act(scale * (x - mean) + shift + residual); the mask, if any, gets act's sign
struct Normalize {
  Run run;
  RunMask mask;
  const float* x = nullptr;
  const float* residual = nullptr;  // null: none
  float* y = nullptr;
  const float* mean = nullptr;
  const float* scale = nullptr;
  const float* shift = nullptr;
  bool relu = false;
  float alpha = 0;  // relu's slope below 0
};

// The passes over a gradient g, which is dy (+ dy2) where the mask is set, and alpha times that elsewhere.
//   sums:  sum_g = sum(g), sum_gx = sum(g * (x - mean))
//   batch: dx = scale * g + slope * (x - mean) + shift
//   fixed: dx = scale * g, and the sums
enum class NormGradientPass { sums, batch, fixed };

struct NormGradient {
  NormGradientPass pass = NormGradientPass::sums;
  Run run;
  RunMask mask;
  float alpha = 0;
  const float* dy = nullptr;
  const float* dy2 = nullptr;  // null: none (only `sums` takes one, and then with g)
  const float* x = nullptr;
  float* g = nullptr;  // null: not wanted
  float* dx = nullptr;
  const float* mean = nullptr;
  const float* scale = nullptr;
  const float* slope = nullptr;
  const float* shift = nullptr;
  float* sum_g = nullptr;
  float* sum_gx = nullptr;
};

struct BatchNormKernels {
  void (*moments)(const BatchMoments&);
  void (*normalize)(const Normalize&);
  void (*gradient)(const NormGradient&);
};

}  // namespace belfry::simd

namespace belfry::avx2 {
extern const simd::BatchNormKernels kBatchNorm;
}
namespace belfry::avx512 {
extern const simd::BatchNormKernels kBatchNorm;
}
