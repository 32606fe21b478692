// Dropout on the team's threads. Element i is a function of the source and i: the same bits for any
// number of threads and either instruction set.
#pragma once

#include <cstdint>

#include "belfry/base/random.h"
#include "belfry/engine/cpu/kernel/isa.h"
#include "belfry/engine/cpu/random/random_simd.h"

namespace belfry {

using simd::RandomSource;

inline RandomSource random_source(PhiloxKey key, std::uint64_t step) { return {{key[0], key[1]}, step, 0}; }

// y_i = x_i / (1 - rate), or 0 with probability `rate`. Given dy for x, the same source gives dx: no mask is stored.
struct DropoutRun {
  const float* x = nullptr;
  float* y = nullptr;  // may be x
  std::int64_t n = 0;
  float rate = 0;
};
void apply_dropout(const RandomSource& source, const DropoutRun& run, Isa isa = cpu_isa());

}  // namespace belfry
