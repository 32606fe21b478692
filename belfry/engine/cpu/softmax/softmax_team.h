// Softmax and cross-entropy on the team's threads. The bits do not depend on the number of threads.
#pragma once

#include <cstdint>

#include "belfry/engine/cpu/kernel/isa.h"
#include "belfry/engine/cpu/softmax/softmax_simd.h"

namespace belfry {

using simd::CrossEntropyArgs;
using simd::DenseCrossEntropyArgs;
using simd::SoftmaxArgs;

void softmax_forward(const SoftmaxArgs& args, Isa isa = cpu_isa());
void log_softmax_forward(const SoftmaxArgs& args, Isa isa = cpu_isa());

void dense_cross_entropy(const DenseCrossEntropyArgs& args, Isa isa = cpu_isa());

// Returns the first row whose label is out of range, or -1; the caller makes it an error.
std::int64_t sparse_cross_entropy(const CrossEntropyArgs& args, Isa isa = cpu_isa());

}  // namespace belfry
