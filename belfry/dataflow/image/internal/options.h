// The checks and draws that augmentors share.
#pragma once

#include "belfry/base/random.h"
#include "belfry/dataflow/image/geometry.h"

#pragma GCC visibility push(default)
namespace belfry {

// What an augmentor makes has no longer side. No image file that is read has a longer one either, and products of sides
// and channels stay within int.
constexpr int kMaxMadeSide = 1 << 20;
void check_size(const char* where, const ImageSize& size);
// Throws unless least <= low <= high <= most.
void check_interval(const char* where, const char* what, const Interval& interval, double least, double most);
inline double draw(const Interval& interval, RandomStream& random) {
  return interval.low + (interval.high - interval.low) * random.uniform();
}

}  // namespace belfry
#pragma GCC visibility pop
