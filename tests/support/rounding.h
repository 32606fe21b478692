// How far apart two ways of computing the same number may be: bounds that hold for every order of operations, so for
// every instruction set, cut between threads and algorithm. A test states how many roundings there are and of what.
#pragma once

#include <cmath>

#include "belfry/array/dtype.h"

namespace belfry {

// Half a unit of the last place, relative: how far one operation is from the exact result, at most.
inline double unit_roundoff(DType dtype = f32) { return dtype == f64 ? 0x1p-53 : 0x1p-24; }

// How far a result after this many roundings is from the exact one. `magnitude` is what it would be if
// nothing cancelled: of a sum the sum of its terms' magnitudes, none of whose partial sums is larger. A sum of n
// products has n roundings if it is fused, 2 n at most.
inline double rounding_bound(double roundings, double magnitude, DType dtype = f32) {
  const double relative = roundings * unit_roundoff(dtype);
  return relative / (1 - relative) * magnitude;
}

// The same for long computations, whose roundings cancel: n independent ones add up as a random walk does, to 8 sqrt(n)
// or more with a probability of 2 exp(-32). The partial sums of terms of random signs are such a walk too: then the
// magnitude is the root of the sum of the terms' squares.
inline double likely_rounding_bound(double roundings, double magnitude, DType dtype = f32) {
  return rounding_bound(8 * std::sqrt(roundings), magnitude, dtype);
}

}  // namespace belfry
