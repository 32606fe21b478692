#include "belfry/engine/cpu/kernels/batch_norm.h"

#include "belfry/engine/cpu/kernels/batch_norm_scratch.h"
#include "belfry/engine/cpu/simd/batch_norm.h"

namespace belfry {

namespace avx2 {
extern const simd::BatchNormKernels batch_norm_table;
}
namespace avx512 {
extern const simd::BatchNormKernels batch_norm_table;
}

const simd::BatchNormKernels& simd::batch_norm_kernels(Isa isa) {
  return isa == Isa::avx512 ? avx512::batch_norm_table : avx2::batch_norm_table;
}

std::size_t batch_norm_scratch_bytes(const ActivationView& view, int team, Isa isa) {
  const LanePlan plan(view, isa, team);
  return static_cast<std::size_t>(plan.parts()) * BatchNormScratch::bytes(plan) + 64;
}

std::size_t batch_norm_mask_bytes(const ActivationView& view, Isa isa) { return LanePlan(view, isa, 1).mask_bytes(); }

}  // namespace belfry
