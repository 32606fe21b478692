// Elementary functions on vectors of f32. Bounds are in units of the last place against the exact value, over all
// finite arguments (see tests/engine/vmath_test.cc); infinities, zeros, NaN and denormals come out as libm's do.
// The polynomials are minimax fits (Remez) of the expression named beside each.
#pragma once

#include "belfry/engine/cpu/vector/lanes.h"

namespace belfry::BELFRY_ISA {
namespace {

// c0 + c1 x + c2 x^2 + ...
[[gnu::always_inline]] inline Vec polynomial(Vec, float c0) { return splat(c0); }
template <class... More>
[[gnu::always_inline]] inline Vec polynomial(Vec x, float c0, More... more) {
  return fma(polynomial(x, more...), x, splat(c0));
}
[[gnu::always_inline]] inline DoubleVec polynomial(DoubleVec, double c0) { return splat(c0); }
template <class... More>
[[gnu::always_inline]] inline DoubleVec polynomial(DoubleVec x, double c0, More... more) {
  return fma(polynomial(x, more...), x, splat(c0));
}

constexpr float kLog2E = 1.44269504f;
constexpr float kLn2High = 0x1.62e43p-1f, kLn2Low = -0x1.05c61p-29f;

// v * 2^n for integral n, rounded once even where the result is denormal.
[[gnu::always_inline]] inline Vec scale_by_power(Vec v, Vec n) {
#ifdef __AVX512F__
  return (Vec)_mm512_scalef_ps((__m512)v, (__m512)n);
#else
  const IntVec all = to_int(n), half = all >> 1;
  return v * as_float((half + 127) << 23) * as_float((all - half + 127) << 23);
#endif
}

// e^r for |r| <= ln2 / 2
[[gnu::always_inline]] inline Vec exp_reduced(Vec r) {
  // (e^r - 1 - r) / r^2
  const Vec q = polynomial(r, 0x1.fffffcp-2f, 0x1.55549p-3f, 0x1.5558fp-5f, 0x1.123a88p-7f, 0x1.6a27f2p-10f);
  return fma(r * r, q, r) + 1.f;
}

// The second operand of smaller and larger is what they return for NaN: clamps below keep it.
// exp: 1 ulp
[[gnu::always_inline]] inline Vec exp(Vec x) {
  const Vec clamped = larger(splat(-105.f), smaller(splat(90.f), x));
  const Vec n = round(clamped * kLog2E);
  const Vec r = fma(n, splat(-kLn2Low), fma(n, splat(-kLn2High), clamped));
  return scale_by_power(exp_reduced(r), n);
}

// expm1: 2 ulp. 2^n (e^r - 1) + (2^n - 1), all halved until the end so that 2^128 does not overflow early.
[[gnu::always_inline]] inline Vec expm1(Vec x) {
  const Vec clamped = larger(splat(-30.f), smaller(splat(88.9f), x));
  const Vec n = round(clamped * kLog2E);
  const Vec r = fma(n, splat(-kLn2Low), fma(n, splat(-kLn2High), clamped));
  // (e^r - 1 - r) / r^2, relative to e^r - 1
  const Vec q = polynomial(r, 0.5f, 0x1.555554p-3f, 0x1.5554bp-5f, 0x1.111188p-7f, 0x1.6d72bap-10f, 0x1.a03774p-13f);
  const Vec p = fma(r * r, q, r);
  const Vec half_power = as_float((to_int(n) + 126) << 23);
  return select(n == 0.f, p, 2.f * fma(half_power, p, half_power - 0.5f));
}

// log(u + c) where c corrects the rounding of u; `kExact` says that c is 0. 1 ulp
template <bool kExact>
[[gnu::always_inline]] inline Vec log_corrected(Vec u, Vec c) {
  const IntVec denormal = u < 0x1p-126f;
  const Vec normal = select(denormal, u * 0x1p24f, u);
  // u = m 2^e with sqrt(1/2) <= m < sqrt(2): subtracting sqrt(1/2)'s bits makes the exponent's field e.
  const IntVec shifted = (IntVec)((UintVec)normal - 0x3F3504F3u);  // may wrap for negative u
  const IntVec exponent = shifted >> 23;
  const Vec m = as_float((shifted & 0x007FFFFF) + 0x3F3504F3);
  const Vec e = to_float(exponent) - select(denormal, splat(24.f), splat(0.f));
  Vec f = m - 1.f;
  if constexpr (!kExact) {
    const IntVec inverse = (127 - exponent) << 23;  // 2^-e; no correction is visible where that would not be normal
    f = fma(c, as_float(inverse > 0 ? inverse : IntVec{}), f);
  }
  // (log(1 + f) - f + f^2 / 2) / f^3
  const Vec q = polynomial(f, 0x1.555548p-2f, -0x1.000006p-2f, 0x1.99a4bcp-3f, -0x1.555c5ap-3f, 0x1.2336e4p-3f,
                           -0x1.fc1f6ep-4f, 0x1.e6f604p-4f, -0x1.de4f9p-4f, 0x1.146304p-4f);
  const Vec square = f * f;
  Vec low = fma(square * f, q, e * kLn2Low);
  low = fma(square, splat(-0.5f), low);
  const Vec result = fma(e, splat(kLn2High), f + low);
  const Vec infinity = splat(__builtin_inff());
  const Vec special = select(u == 0.f, negate(infinity), select(u < 0.f, splat(__builtin_nanf("")), u));
  // The rest are positive finite numbers; +inf and NaN give themselves.
  return select((u > 0.f) & (u < infinity), result, special);
}

[[gnu::always_inline]] inline Vec log(Vec x) { return log_corrected<true>(x, Vec{}); }

// log1p: 2 ulp
[[gnu::always_inline]] inline Vec log1p(Vec x) {
  const Vec u = x + 1.f;
  const Vec lost = select(x < 1.f, x - (u - 1.f), 1.f - (u - x));
  return select(abs(x) < 0x1p-25f, x, log_corrected<false>(u, lost));
}

// tanh: 3 ulp. tanh|x| = -t / (2 + t) with t = e^(-2|x|) - 1
[[gnu::always_inline]] inline Vec tanh(Vec x) {
  const Vec t = expm1(-2.f * abs(x));
  return copy_sign(t / (t + 2.f), x);
}

// sigmoid: 2 ulp, without overflow on either side
[[gnu::always_inline]] inline Vec sigmoid(Vec x) {
  const Vec e = exp(negate(abs(x)));
  return select(x < 0.f, e, splat(1.f)) / (e + 1.f);
}

// log(1 + e^x) = max(x, 0) + log1p(e^-|x|): 2 ulp
[[gnu::always_inline]] inline Vec softplus(Vec x) { return larger(splat(0.f), x) + log1p(exp(negate(abs(x)))); }

// erf: 2 ulp
[[gnu::always_inline]] inline Vec erf(Vec x) {
  const Vec a = abs(x), square = x * x;
  // erf(x) / x - 1 in x^2, up to 0.93
  const Vec p = polynomial(square, 0x1.06eba8p-3f, -0x1.812742p-2f, 0x1.ce2e0ep-4f, -0x1.b80ed4p-6f, 0x1.54c9eep-8f,
                           -0x1.aa4da4p-11f, 0x1.5cfd8cp-14f);
  // -log(1 - erf(x)), from 0.92 to 4, where erf is 1 in f32
  const Vec g = polynomial(smaller(splat(4.f), a), -0x1.6e565ap-13f, 0x1.2127e4p+0f, 0x1.44460cp-1f, 0x1.bb83e4p-4f,
                           -0x1.9b8e78p-6f, 0x1.115ac2p-8f, -0x1.c790ecp-12f, 0x1.61ea3p-16f);
  return select(a < 0.925f, fma(x, p, x), copy_sign(1.f - exp(negate(g)), x));
}

// The standard normal distribution: its share below x, and bell = e^(-x^2 / 2).
struct Normal {
  Vec share, bell;
};
[[gnu::always_inline]] inline Normal normal(Vec x) {
  const Vec t = smaller(splat(15.f), abs(x));  // there and beyond, the upper share is 0 in f32
  const Vec square = t * t, lost = fma(t, t, negate(square));
  Vec bell = exp(square * -0.5f);
  bell = fma(bell, lost * -0.5f, bell);
  const Vec u = 1.f / fma(t, splat(0.35f), splat(1.f));
  // e^(t^2 / 2) (share above t) / u
  const Vec q = polynomial(u, 0x1.1df1c4p-3f, 0x1.1e70ep-3f, 0x1.eac81ap-4f, 0x1.b05e1p-4f, -0x1.7c8944p-6f,
                           0x1.4653a4p-3f, -0x1.05ff0cp-2f, 0x1.26fdd8p-3f, -0x1.ddbfc2p-6f);
  const Vec above = bell * u * q;
  return {select(x < 0.f, above, 1.f - above), bell};
}

// gelu: 4 ulp, 9 where the share is denormal. The derivative has a zero, near which only its absolute error is small:
// 2^-22.
constexpr float kNormalDensity = 0x1.988454p-2f;  // 1 / sqrt(2 pi)
[[gnu::always_inline]] inline Vec gelu(Vec x) { return x * normal(x).share; }
[[gnu::always_inline]] inline Vec gelu_slope(Vec x) {
  const Normal n = normal(x);
  const Vec clamped = larger(splat(-15.f), smaller(splat(15.f), x));  // the product with a bell of 0 stays 0
  return fma(clamped * kNormalDensity, n.bell, n.share);
}

[[gnu::always_inline]] inline Vec rsqrt(Vec x) { return 1.f / sqrt(x); }

// Both for |r| <= pi / 4.
[[gnu::always_inline]] inline Vec sin_reduced(Vec r) {
  const Vec square = r * r;
  const Vec q = polynomial(square, -0x1.555556p-3f, 0x1.111108p-7f, -0x1.a00f74p-13f, 0x1.6ccf5ep-19f);
  return fma(square * r, q, r);
}
[[gnu::always_inline]] inline Vec cos_reduced(Vec r) {
  const Vec square = r * r;
  const Vec q = polynomial(square, 0x1.55554ap-5f, -0x1.6c0c28p-10f, 0x1.99e86ap-16f);
  return fma(square * square, q, fma(square, splat(-0.5f), splat(1.f)));
}

// sin(r + quadrant pi / 2)
[[gnu::always_inline]] inline Vec sin_of_quadrant(Vec r, IntVec quadrant) {
  const Vec value = select((quadrant & 1) != 0, cos_reduced(r), sin_reduced(r));
  return as_float(as_int(value) ^ ((quadrant & 2) << 30));
}

constexpr float kLargestReducedAngle = 1e5f;

// sin (quarter turns 0) or cos (1): 2 ulp. Beyond 1e5 three words of pi are not enough and libm answers lane by lane.
[[gnu::always_inline]] inline Vec sin_ahead(Vec x, int quarter_turns) {
  const Vec n = round(x * 0x1.45f306p-1f);
  Vec r = fma(n, splat(-0x1.921fb6p+0f), x);
  r = fma(n, splat(0x1.777a5cp-25f), r);
  r = fma(n, splat(0x1.ee59dap-50f), r);
  Vec result = sin_of_quadrant(r, to_int(n) + quarter_turns);
  const IntVec large = abs(x) > kLargestReducedAngle;
  if (any(large)) {
    for (int i = 0; i < kWidth; ++i) {
      if (large[i]) result[i] = quarter_turns == 0 ? __builtin_sinf(x[i]) : __builtin_cosf(x[i]);
    }
  }
  return result;
}
[[gnu::always_inline]] inline Vec sin(Vec x) { return sin_ahead(x, 0); }
[[gnu::always_inline]] inline Vec cos(Vec x) { return sin_ahead(x, 1); }

// log of |x|, to 2^-44, where x comes from a vector of f32 (so denormals are normal here)
[[gnu::always_inline]] inline DoubleVec log_magnitude(DoubleVec x) {
  const LongVec bits = (LongVec)x & INT64_MAX;
  // An exponent in the low bits of 2^52 makes a double without a conversion of 64-bit integers, which AVX2 lacks.
  DoubleVec e = (DoubleVec)((bits >> 52) | 0x4330000000000000) - (0x1p52 + 1023.0);
  DoubleVec m = (DoubleVec)((bits & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000);
  const LongVec upper = m > 1.4142135623730951;
  m = upper ? m * 0.5 : m;
  e = upper ? e + 1.0 : e;
  const DoubleVec s = (m - 1.0) / (m + 1.0), square = s * s;
  // (log((1 + s) / (1 - s)) - 2 s) / s^3 in s^2
  const DoubleVec q = polynomial(square, 0.66666666675837494, 0.39999995606356281, 0.2857211109858131,
                                 0.22176095979671212, 0.19585642893127442);
  const DoubleVec result = fma(square * s, q, fma(e, splat(0.69314718055994531), s + s));
  const DoubleVec infinity = splat(__builtin_inf()), magnitude = (DoubleVec)bits;
  const DoubleVec special = magnitude == 0.0 ? -infinity : magnitude;
  return ((magnitude > 0.0) & (magnitude < infinity)) ? result : special;
}

// y log|x| = n ln2 + r
[[gnu::always_inline]] inline DoubleVec reduced_power(DoubleVec x, DoubleVec y, DoubleVec& n) {
  DoubleVec t = y * log_magnitude(x);
  t = t < -105.0 ? splat(-105.0) : t;
  t = t > 90.0 ? splat(90.0) : t;
  n = round(t * 1.4426950408889634);
  return fma(n, splat(-0.69314718055994531), t);
}

// pow: 1 ulp; a negative x takes an integral y, as in libm
[[gnu::always_inline]] inline Vec pow(Vec x, Vec y) {
  DoubleVec n_low, n_high;
  const DoubleVec r_low = reduced_power(low_half(x), low_half(y), n_low);
  const DoubleVec r_high = reduced_power(high_half(x), high_half(y), n_high);
  Vec result = scale_by_power(exp_reduced(join(r_low, r_high)), join(n_low, n_high));
  const IntVec odd = ((to_int(y) & 1) != 0) & (abs(y) < 0x1p24f) & (round(y) == y);
  result = select(odd & (as_int(x) < 0), negate(result), result);
  const IntVec fraction = (round(y) != y) & (x < 0.f) & (x > -__builtin_inff());
  result = select(fraction, splat(__builtin_nanf("")), result);
  return select((y == 0.f) | (x == 1.f), splat(1.f), result);
}

}  // namespace
}  // namespace belfry::BELFRY_ISA
