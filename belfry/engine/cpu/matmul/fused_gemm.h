// Products of matrices with the operations that follow, applied to a few rows at a time while they are in the cache, on
// the team's threads. The bits of the products do not depend on the number of threads, those of column sums do.
#pragma once

#include <cstddef>

#include "belfry/engine/cpu/matmul/gemm.h"

namespace belfry {

struct FusedGemm {
  GemmProduct product{};  // without a pitch: y_row is n
  // y = gelu(product), and if wanted gelu's slope there and the product itself ...
  bool gelu = false;
  float* slope = nullptr;
  float* before = nullptr;
  // ... or y = product * factor, and if wanted the sums of its columns.
  const float* factor = nullptr;
  float* sums = nullptr;
};

std::size_t fused_gemm_scratch_bytes(const GemmProduct& product, int threads);
void fused_gemm(const FusedGemm& args, void* scratch);

}  // namespace belfry
