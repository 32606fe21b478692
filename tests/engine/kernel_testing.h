// What the kernel tests share: both instruction sets where the machine has them, inputs, comparing bits.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "belfry/base/random.h"
#include "belfry/engine/cpu/kernel/isa.h"

namespace belfry {

inline std::vector<Isa> available_isas() {
  if (cpu_isa() == Isa::avx512) return {Isa::avx2, Isa::avx512};
  return {Isa::avx2};
}

inline std::vector<float> random_values(std::int64_t n, std::uint64_t seed, double low = -2, double high = 2) {
  RandomStream stream(seed);
  std::vector<float> values(static_cast<std::size_t>(n));
  for (float& value : values) value = static_cast<float>(low + (high - low) * stream.uniform());
  return values;
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

}  // namespace belfry
