// The vector forms of pointwise ops that vmath.h has no function for.
#pragma once

#include "belfry/engine/cpu/vector/lanes.h"
#include "belfry/engine/cpu/vector/vmath.h"
#include "belfry/ops/internal/activation_constants.h"

namespace belfry::BELFRY_ISA {
namespace {

[[gnu::always_inline]] inline Vec one_if(IntVec mask) { return select(mask, splat(1.f), Vec{}); }

[[gnu::always_inline]] inline Vec sign(Vec a) {
  const Vec one = select(a > 0.f, splat(1.f), splat(-1.f));
  return select((a > 0.f) | (a < 0.f), one, a);
}

[[gnu::always_inline]] inline Vec elu(Vec a) { return select(a > 0.f, a, expm1(a)); }
[[gnu::always_inline]] inline Vec selu(Vec a) {
  constexpr auto scale = static_cast<float>(kSeluScale), low = static_cast<float>(kSeluScale * kSeluAlpha);
  return select(a > 0.f, a * scale, expm1(a) * low);
}
// By halves, since sigmoid(a) loses digits to underflow long before a sigmoid(a) does.
[[gnu::always_inline]] inline Vec swish(Vec a) {
  const Vec half = exp(abs(a) * -0.5f);
  const IntVec positive = a >= 0.f;
  return select(positive, a, a * half) * (select(positive, splat(1.f), half) / fma(half, half, splat(1.f)));
}

// a - floor(a / b) b, with the sign of b. If f32 can represent the quotient, the remainder is exact, except that the
// quotient is sometimes one too large, which the sign shows; the rest is left to libm.
[[gnu::always_inline]] inline Vec mod(Vec a, Vec b) {
  const Vec quotient = a / b, q = floor(quotient);
  Vec r = fma(negate(q), b, a);
  const IntVec counted = (abs(quotient) < 0x1p22f) & (abs(b) < __builtin_inff());
  if (any(~counted))
    for (int i = 0; i < kWidth; ++i)
      if (!counted[i]) r[i] = __builtin_fmodf(a[i], b[i]);
  return select(((r < 0.f) & (b > 0.f)) | ((r > 0.f) & (b < 0.f)), r + b, r);
}

}  // namespace
}  // namespace belfry::BELFRY_ISA
