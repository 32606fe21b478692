// One product of two matrices with factors rounded to bf16, by the CPU's tiles. Internal to engine/cpu.
#pragma once

#include "belfry/engine/cpu/matmul/split_matmul.h"

namespace belfry {

// Inputs a, b and, if there is one, the bias.
KernelPtr make_tile_matmul(const MatMulShape& shape, int threads, MatMulEpilogue epilogue);

}  // namespace belfry
