// The passes that batch normalisation is made of, over the part of one group of channels that a Run describes.
// All tables are per lane. With a mask, g = dy where the bit is set, else 0; without one, g = dy.
#pragma once

#include "belfry/engine/cpu/isa.h"
#include "belfry/engine/cpu/simd/run.h"

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
};

// sum_g = sum(g), sum_gx = sum(g * (x - mean))
struct NormGradientSums {
  Run run;
  RunMask mask;
  const float* dy = nullptr;
  const float* x = nullptr;
  const float* mean = nullptr;
  float* sum_g = nullptr;
  float* sum_gx = nullptr;
  const float* dy2 = nullptr;  // g is made of dy + dy2, and written to g_out for the second pass; null: dy alone
  float* g_out = nullptr;
};

// dx = scale * g + slope * (x - mean) + shift; d_residual = g
struct NormGradient {
  Run run;
  RunMask mask;
  const float* dy = nullptr;
  const float* x = nullptr;
  float* dx = nullptr;
  float* d_residual = nullptr;  // null: not wanted
  const float* mean = nullptr;
  const float* scale = nullptr;
  const float* slope = nullptr;
  const float* shift = nullptr;
};

// dx = scale * g; d_residual = g; sums as in NormGradientSums, in the same pass
struct FixedNormGradient {
  Run run;
  RunMask mask;
  const float* dy = nullptr;
  const float* x = nullptr;
  float* dx = nullptr;
  float* d_residual = nullptr;  // null: not wanted
  const float* mean = nullptr;
  const float* scale = nullptr;
  float* sum_g = nullptr;
  float* sum_gx = nullptr;
};

struct BatchNormKernels {
  void (*moments)(const BatchMoments&);
  void (*normalize)(const Normalize&);
  void (*gradient_sums)(const NormGradientSums&);
  void (*gradient)(const NormGradient&);
  void (*fixed_gradient)(const FixedNormGradient&);
};

const BatchNormKernels& batch_norm_kernels(Isa isa = cpu_isa());

}  // namespace belfry::simd
