#include "belfry/engine/cpu/pointwise/bf16_simd.h"

#include "belfry/engine/cpu/vector/lanes.h"

namespace belfry::BELFRY_ISA {
namespace {

inline Vec rounded(Vec x) {
  constexpr std::int32_t kSign = INT32_MIN, kInfinity = 0x7F800000, kUpper = -0x10000, kQuiet = 0x400000;
  const IntVec bits = as_int(x), magnitude = bits & ~kSign;
  // Adds half of the bits cut off, minus one, plus one if the rest is odd: carries propagate, also into infinity.
  // NaN would overflow and is handled separately.
  const auto nan = magnitude > kInfinity;
  const IntVec number = nan ? bits & 0 : bits;
  const IntVec nearest = (number + 0x7FFF + ((number >> 16) & 1)) & kUpper;
  const IntVec flushed = magnitude < 0x800000 ? bits & kSign : nearest;
  return as_float(nan ? (bits & kUpper) | kQuiet : flushed);
}

void round(const float* from, float* to, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) store(to + i, rounded(load(from + i)));
  if (i < count) store_first(to + i, rounded(load_first(from + i, count - i)), count - i);
}

}  // namespace

const simd::Bf16Kernels kBf16 = {round};

}  // namespace belfry::BELFRY_ISA
