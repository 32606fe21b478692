// bf16 by arithmetic, for comparison: independent of how the kernels do it.
#pragma once

#include <cmath>
#include <limits>

#include "belfry/array/array.h"

namespace belfry {

// The nearest number with 8 significant bits, ties to even; subnormals become 0.
inline float bf16_of(float x) {
  if (std::isnan(x) || std::isinf(x)) return x;
  if (std::fabs(x) < std::numeric_limits<float>::min()) return std::copysign(0.f, x);
  int exponent = 0;
  const double fraction = std::frexp(static_cast<double>(x), &exponent);
  return static_cast<float>(std::ldexp(std::nearbyint(std::ldexp(fraction, 8)), exponent - 8));
}

inline Array bf16_of(const Array& array) {
  Array out(f32, array.shape());
  for (std::size_t i = 0; i < out.values<float>().size(); ++i)
    out.values<float>()[i] = bf16_of(array.values<float>()[i]);
  return out;
}

}  // namespace belfry
