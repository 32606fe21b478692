// What the tests of convolutions share: data, and how far a sum of products may be from its definition in f64.
#pragma once

#include <cmath>

#include "belfry/array/array.h"
#include "belfry/base/random.h"
#include "tests/support/rounding.h"

namespace belfry {

inline Array random_doubles(const Shape& shape, std::uint64_t seed) {
  Array out(f64, shape);
  RandomStream random(seed);
  for (double& v : out.values<double>()) v = random.uniform() - 0.5;
  return out;
}

inline Array squared(const Array& array) {
  Array out = array.clone();
  for (double& v : out.values<double>()) v *= v;
  return out;
}

// `squares` is the definition of the squared factors: the sum of the squares of the terms. Each term is rounded once or
// twice, in the definition too, and its factors when they become f32.
inline double product_bound(std::int64_t terms, double squares, DType dtype) {
  return likely_rounding_bound(4 * static_cast<double>(terms + 1), std::sqrt(squares), dtype);
}

}  // namespace belfry
