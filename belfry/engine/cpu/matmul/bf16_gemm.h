// The products of gemm.h with both factors rounded to bf16, by the CPU's tiles: only where bf16_support().tiles. The
// bits do not depend on how the rows or columns of one product are shared among threads.
#pragma once

#include "belfry/engine/cpu/matmul/gemm.h"

namespace belfry {

std::size_t bf16_gemm_scratch_bytes(std::int64_t m, std::int64_t n, std::int64_t k);
void bf16_gemm(const GemmProduct& product, bool relu, void* scratch);

}  // namespace belfry
