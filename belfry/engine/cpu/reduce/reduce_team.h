// Reductions over one axis on the team's threads: output[o][i] = scale * op over a of input[o][a][i]. The order is
// fixed by the shape and the team's size. A mean is a sum with scale 1 / axis, and so is a mean square.
#pragma once

#include <cstdint>

#include "belfry/engine/cpu/kernel/isa.h"
#include "belfry/engine/cpu/reduce/reduce_simd.h"

namespace belfry {

using simd::ReduceOp;

struct AxisReduction {
  ReduceOp op = ReduceOp::sum;
  const float* input = nullptr;  // [outer][axis][inner]
  float* output = nullptr;       // [outer][inner]
  std::int64_t outer = 1, axis = 0, inner = 1;
  float scale = 1;
};

// Of an empty axis a sum is 0, a maximum -infinity, a minimum +infinity.
void reduce_axis(const AxisReduction& reduction, Isa isa = cpu_isa());

}  // namespace belfry
