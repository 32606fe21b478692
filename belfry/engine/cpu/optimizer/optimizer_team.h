// Optimizer updates on the team's threads. The bits do not depend on the number of threads.
#pragma once

#include <cstdint>

#include "belfry/engine/cpu/kernel/isa.h"
#include "belfry/engine/cpu/optimizer/optimizer_simd.h"

namespace belfry {

using simd::SecondCopy;
using simd::UpdateBuffers;
using simd::UpdateRule;
using simd::UpdateStep;

inline const simd::OptimizerKernels& optimizer_kernels(Isa isa) {
  return by_isa(isa, avx2::kOptimizer, avx512::kOptimizer);
}

struct AdamSettings {
  double learning_rate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
};

// Adam's scalars for step t = 1, 2, ...: bias corrections folded into the rate and the second moment's scale.
UpdateStep adam_step(const AdamSettings& settings, std::int64_t t);

// Updates n weights.
void apply_update(const UpdateStep& step, const UpdateBuffers<float>& buffers, std::int64_t n, Isa isa = cpu_isa());
void apply_update(const UpdateStep& step, const UpdateBuffers<double>& buffers, std::int64_t n, Isa isa = cpu_isa());
// Updates all tiles that the copy describes, and the copy.
void apply_update(const UpdateStep& step, const UpdateBuffers<float>& buffers, const SecondCopy& copy,
                  Isa isa = cpu_isa());

}  // namespace belfry
