// Convolutions with factors rounded to bf16, by the CPU's tiles: images channels last, one group. Internal to
// engine/cpu.
#pragma once

#include "belfry/engine/cpu/conv/conv_call.h"

namespace belfry {

// Whether there is code for this one. Everything it touches is row-major.
bool tiles_can_convolve(const ConvCall& call);
KernelPtr make_tile_conv(const ConvCall& call, int threads);

// The pass for the filter's gradient, in a separate file.
KernelPtr make_tile_conv_filter(const ConvCall& call, int threads);

}  // namespace belfry
