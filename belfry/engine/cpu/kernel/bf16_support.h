// Whether this machine multiplies bf16 numbers natively, with AMX tiles. (AVX-512's dot product of bf16 pairs is not
// used: measured on CPUs that have both, it takes twice the time of f32's multiply-add.)
#pragma once

#include <string>

#include "belfry/engine/cpu/kernel/kernel.h"

namespace belfry {

struct Bf16Support {
  bool tiles = false;
  std::string reason{};  // why, or why not: for explain()
};

// Asks the system for the tile registers once; constant for the life of the process. False with a cap (BELFRY_ISA).
const Bf16Support& bf16_support();

// Whether lower_precision has left the rounding to this node's kernel.
bool takes_tiles(const KernelContext& c);

}  // namespace belfry
