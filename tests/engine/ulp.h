// The distance of a float from an exact value, in units of the last place of that value.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace belfry {

inline double ulp_error(float got, double exact) {
  const float rounded = static_cast<float>(exact);
  if (std::isnan(rounded) || std::isnan(got)) return std::isnan(rounded) && std::isnan(got) ? 0 : 1e30;
  if (std::isinf(rounded) || std::isinf(got)) return rounded == got ? 0 : 1e30;
  const int exponent = std::max(std::ilogb(exact == 0 ? 1e-300 : exact), -126);
  return std::abs(got - exact) / std::ldexp(1.0, exponent - 23);
}

// Floats of every exponent and sign between low and high, and the values where functions break.
inline std::vector<float> probes(float low, float high, std::uint32_t stride = 20011) {
  std::vector<float> result;
  const float inf = std::numeric_limits<float>::infinity();
  const float most = std::numeric_limits<float>::max();
  for (float x : {0.f, -0.f, 1.f, -1.f, 0x1p-149f, -0x1p-149f, 0x1p-126f, most, -most, inf, -inf, NAN})
    if (!(x < low) && !(x > high)) result.push_back(x);
  for (std::uint64_t bits = 0; bits <= 0xFFFFFFFFull; bits += stride) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (x >= low && x <= high) result.push_back(x);
  }
  for (int i = -20000; i <= 20000; ++i) {  // where most arguments lie
    const float x = static_cast<float>(i) * 0.000973f;
    if (x >= low && x <= high) result.push_back(x);
  }
  return result;
}

}  // namespace belfry
