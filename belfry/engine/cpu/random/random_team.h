// Random tensors and dropout on the team's threads. Element i is a function of the source and i: the same bits for any
// number of threads and either instruction set.
#pragma once

#include <cstdint>

#include "belfry/base/random.h"
#include "belfry/engine/cpu/kernel/isa.h"
#include "belfry/engine/cpu/random/random_simd.h"

namespace belfry {

using simd::RandomSource;

inline RandomSource random_source(PhiloxKey key, std::uint64_t step) { return {{key[0], key[1]}, step, 0}; }

struct RandomRange {
  float low = 0, high = 1;  // low <= x < high
};
struct NormalShape {
  float mean = 0, deviation = 1;
};

void fill_random_bits(const RandomSource& source, std::uint32_t* to, std::int64_t n, Isa isa = cpu_isa());
void fill_uniform(const RandomSource& source, float* to, std::int64_t n, RandomRange range, Isa isa = cpu_isa());
void fill_normal(const RandomSource& source, float* to, std::int64_t n, NormalShape shape, Isa isa = cpu_isa());
// Normal numbers given that they are within two deviations of the mean.
void fill_truncated_normal(const RandomSource& source, float* to, std::int64_t n, NormalShape shape,
                           Isa isa = cpu_isa());

// y_i = x_i / (1 - rate), or 0 with probability `rate`. Given dy for x, the same source gives dx: no mask is stored.
struct DropoutRun {
  const float* x = nullptr;
  float* y = nullptr;  // may be x
  std::int64_t n = 0;
  float rate = 0;
};
void apply_dropout(const RandomSource& source, const DropoutRun& run, Isa isa = cpu_isa());

}  // namespace belfry
