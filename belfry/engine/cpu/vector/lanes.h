// What the kernels need beyond the operators of Vec: fused multiply-add, rounding, casts, folding a vector to one
// number, and vectors of doubles. The fma is always spelled out, so that both instruction sets round in the same places
// and give the same bits.
#pragma once

#include "belfry/engine/cpu/vector/vec.h"

namespace belfry::BELFRY_ISA {
namespace {

typedef std::uint32_t UintVec __attribute__((vector_size(kWidth * 4)));
typedef double DoubleVec __attribute__((vector_size(kWidth * 4)));
typedef std::int64_t LongVec __attribute__((vector_size(kWidth * 4)));

// Bits reinterpreted, not values converted.
inline IntVec as_int(Vec v) { return (IntVec)v; }
inline Vec as_float(IntVec v) { return (Vec)v; }

inline Vec select(IntVec mask, Vec yes, Vec no) { return mask ? yes : no; }
inline Vec abs(Vec v) { return as_float(as_int(v) & 0x7FFFFFFF); }
inline Vec negate(Vec v) { return as_float(as_int(v) ^ INT32_MIN); }
// The magnitude of the first with the sign of the second.
inline Vec copy_sign(Vec magnitude, Vec sign) {
  return as_float((as_int(magnitude) & 0x7FFFFFFF) | (as_int(sign) & INT32_MIN));
}

#ifdef __AVX512F__
inline Vec fma(Vec a, Vec b, Vec c) { return (Vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c); }
inline Vec sqrt(Vec v) { return (Vec)_mm512_sqrt_ps((__m512)v); }
// Like max and min of vec.h (the second operand where either is NaN), but always one instruction.
inline Vec larger(Vec a, Vec b) { return (Vec)_mm512_max_ps((__m512)a, (__m512)b); }
inline Vec smaller(Vec a, Vec b) { return (Vec)_mm512_min_ps((__m512)a, (__m512)b); }
inline Vec floor(Vec v) { return (Vec)_mm512_roundscale_ps((__m512)v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
inline Vec ceil(Vec v) { return (Vec)_mm512_roundscale_ps((__m512)v, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC); }
inline Vec round(Vec v) { return (Vec)_mm512_roundscale_ps((__m512)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
inline IntVec to_int(Vec v) { return (IntVec)_mm512_cvtps_epi32((__m512)v); }
inline bool any(IntVec mask) { return _mm512_movepi32_mask((__m512i)mask) != 0; }

inline DoubleVec fma(DoubleVec a, DoubleVec b, DoubleVec c) {
  return (DoubleVec)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}
inline DoubleVec round(DoubleVec v) {
  return (DoubleVec)_mm512_roundscale_pd((__m512d)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
inline DoubleVec low_half(Vec v) { return (DoubleVec)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)v)); }
inline DoubleVec high_half(Vec v) { return (DoubleVec)_mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)v, 1)); }
inline Vec join(DoubleVec low, DoubleVec high) {
  const __m512 narrow = _mm512_castps256_ps512(_mm512_cvtpd_ps((__m512d)low));
  return (Vec)_mm512_insertf32x8(narrow, _mm512_cvtpd_ps((__m512d)high), 1);
}
#else
inline Vec fma(Vec a, Vec b, Vec c) { return (Vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }
inline Vec sqrt(Vec v) { return (Vec)_mm256_sqrt_ps((__m256)v); }
inline Vec larger(Vec a, Vec b) { return (Vec)_mm256_max_ps((__m256)a, (__m256)b); }
inline Vec smaller(Vec a, Vec b) { return (Vec)_mm256_min_ps((__m256)a, (__m256)b); }
inline Vec floor(Vec v) { return (Vec)_mm256_floor_ps((__m256)v); }
inline Vec ceil(Vec v) { return (Vec)_mm256_ceil_ps((__m256)v); }
inline Vec round(Vec v) { return (Vec)_mm256_round_ps((__m256)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
inline IntVec to_int(Vec v) { return (IntVec)_mm256_cvtps_epi32((__m256)v); }
inline bool any(IntVec mask) { return _mm256_movemask_ps((__m256)mask) != 0; }

inline DoubleVec fma(DoubleVec a, DoubleVec b, DoubleVec c) {
  return (DoubleVec)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}
inline DoubleVec round(DoubleVec v) {
  return (DoubleVec)_mm256_round_pd((__m256d)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
inline DoubleVec low_half(Vec v) { return (DoubleVec)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)v)); }
inline DoubleVec high_half(Vec v) { return (DoubleVec)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)v, 1)); }
inline Vec join(DoubleVec low, DoubleVec high) {
  return (Vec)_mm256_set_m128(_mm256_cvtpd_ps((__m256d)high), _mm256_cvtpd_ps((__m256d)low));
}
#endif

inline Vec to_float(IntVec v) { return __builtin_convertvector(v, Vec); }
inline DoubleVec splat(double x) { return DoubleVec{} + x; }

// max and min that keep a NaN of either side, as array libraries do.
inline Vec nan_max(Vec a, Vec b) { return select(a != a, a, larger(a, b)); }
inline Vec nan_min(Vec a, Vec b) { return select(a != a, a, smaller(a, b)); }

// Folds all lanes with f in a fixed tree: halves on halves.
template <class F>
inline float fold(Vec v, F f) {
#ifdef __AVX512F__
  v = f(v, __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
  v = f(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));
  v = f(v, __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
  v = f(v, __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));
#else
  v = f(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3));
  v = f(v, __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5));
  v = f(v, __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6));
#endif
  return v[0];
}

}  // namespace
}  // namespace belfry::BELFRY_ISA
