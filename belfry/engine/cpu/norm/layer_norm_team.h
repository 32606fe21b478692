// Layer norm on the team's threads. The bits of dgamma and dbeta depend on the team's size, the others do not.
#pragma once

#include <cstddef>

#include "belfry/engine/cpu/kernel/isa.h"
#include "belfry/engine/cpu/norm/layer_norm_simd.h"

namespace belfry {

using simd::LayerNormArgs;
using simd::LayerNormGradArgs;

void layer_norm_forward(const LayerNormArgs& args, std::int64_t rows, Isa isa = cpu_isa());
// dgamma and dbeta are overwritten. `scratch` has the size that layer_norm_scratch_bytes says.
void layer_norm_backward(const LayerNormGradArgs& args, std::int64_t rows, void* scratch, Isa isa = cpu_isa());
std::size_t layer_norm_scratch_bytes(std::int64_t n, int threads);

}  // namespace belfry
