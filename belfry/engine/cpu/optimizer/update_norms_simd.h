// The sums that rules which adapt a whole variable's rate (lars, lamb) need before they update anything.
#pragma once

#include "belfry/engine/cpu/optimizer/optimizer_simd.h"

namespace belfry::simd {

// Sums of squares, in f64 so that their order hardly matters: of the weights, and of their direction (lars' g, lamb's
// d). Only reads. Padding adds 0.
struct UpdateNorms {
  double weights = 0, direction = 0;
};

struct UpdateNormKernels {
  UpdateNorms (*norms)(const UpdateStep&, const UpdateBuffers<float>&, std::int64_t begin, std::int64_t end);
  UpdateNorms (*norms_f64)(const UpdateStep&, const UpdateBuffers<double>&, std::int64_t begin, std::int64_t end);
};

}  // namespace belfry::simd

namespace belfry::avx2 {
extern const simd::UpdateNormKernels kUpdateNorms;
}
namespace belfry::avx512 {
extern const simd::UpdateNormKernels kUpdateNorms;
}
