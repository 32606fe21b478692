// Memory access of the vector type beyond floats side by side: u8 lanes, bit masks, strided lanes.
#pragma once

#include "belfry/engine/cpu/vector/vec.h"

namespace belfry::BELFRY_ISA {
namespace {

#ifdef __AVX512F__

// Conversions are written with a full mask: g++ 12 warns of the undefined operand inside the plain intrinsics.
constexpr __mmask16 kAllLanes = 0xFFFF;

inline IntVec load_u8(const std::uint8_t* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return reinterpret_cast<IntVec>(_mm512_maskz_cvtepu8_epi32(kAllLanes, bytes));
}
inline IntVec load_u8_partial(const std::uint8_t* p, int n) {
  return reinterpret_cast<IntVec>(_mm512_maskz_cvtepu8_epi32(kAllLanes, _mm_maskz_loadu_epi8(first_lanes(n), p)));
}
inline void store_u8(std::uint8_t* p, IntVec v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_maskz_cvtepi32_epi8(kAllLanes, reinterpret_cast<__m512i>(v)));
}
inline void store_u8_partial(std::uint8_t* p, IntVec v, int n) {
  _mm_mask_storeu_epi8(p, first_lanes(n), _mm512_maskz_cvtepi32_epi8(kAllLanes, reinterpret_cast<__m512i>(v)));
}

// Bit i: v[i] > 0.
inline std::uint64_t positive_bits(Vec v) { return _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_GT_OQ); }
// v where bit i is set, else 0.
inline Vec keep_by_bits(std::uint64_t bits, Vec v) { return _mm512_maskz_mov_ps(static_cast<__mmask16>(bits), v); }
// v where bit i is set, else other.
inline Vec take_by_bits(std::uint64_t bits, Vec v, Vec other) {
  return _mm512_mask_blend_ps(static_cast<__mmask16>(bits), other, v);
}
inline Vec keep_where_positive(Vec condition, Vec v) {
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(condition, _mm512_setzero_ps(), _CMP_GT_OQ), v);
}
inline Vec keep_where_equal(IntVec a, IntVec b, Vec v) {
  return _mm512_maskz_mov_ps(_mm512_cmpeq_epi32_mask(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)), v);
}

// best = v and index = k where v is larger than best or NaN. k must grow from call to call.
inline void take_larger(Vec& best, IntVec& index, Vec v, int k) {
  const __mmask16 number = _mm512_cmp_ps_mask(v, v, _CMP_ORD_Q);
  const __mmask16 keep = _mm512_mask_cmp_ps_mask(number, v, best, _CMP_NGT_UQ);
  best = _mm512_mask_mov_ps(v, keep, best);
  index = reinterpret_cast<IntVec>(_mm512_mask_mov_epi32(_mm512_set1_epi32(k), keep, reinterpret_cast<__m512i>(index)));
}

// Lane i: v[lanes[i]].
inline Vec permute(Vec v, IntVec lanes) {
  return _mm512_maskz_permutexvar_ps(kAllLanes, reinterpret_cast<__m512i>(lanes), v);
}

// a0 b0 a1 b1 ...
inline void interleave(Vec a, Vec b, Vec& low, Vec& high) {
  const __m512i first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  low = _mm512_permutex2var_ps(a, first, b);
  high = _mm512_permutex2var_ps(a, _mm512_add_epi32(first, _mm512_set1_epi32(8)), b);
}
// a0 a2 .. a14 b1 b3 .. b15
inline Vec even_then_odd(Vec a, Vec b) {
  const __m512i take = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31);
  return _mm512_permutex2var_ps(a, take, b);
}
inline Vec gather(const float* p, std::int64_t stride, int n) {
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i at = _mm512_mullo_epi32(lanes, _mm512_set1_epi32(static_cast<int>(stride)));
  return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), first_lanes(n), at, p, 4);
}

#else

inline IntVec load_u8(const std::uint8_t* p) {
  return reinterpret_cast<IntVec>(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}
inline IntVec load_u8_partial(const std::uint8_t* p, int n) {
  std::uint8_t lanes[8] = {};
  for (int i = 0; i < n; ++i) lanes[i] = p[i];
  return load_u8(lanes);
}
inline void store_u8(std::uint8_t* p, IntVec v) {
  const __m256i words = _mm256_packus_epi32(reinterpret_cast<__m256i>(v), _mm256_setzero_si256());
  const __m256i bytes = _mm256_packus_epi16(words, _mm256_setzero_si256());
  const __m256i joined = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 0, 0, 0, 0, 0, 0));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(joined));
}
inline void store_u8_partial(std::uint8_t* p, IntVec v, int n) {
  std::uint8_t lanes[8];
  store_u8(lanes, v);
  for (int i = 0; i < n; ++i) p[i] = lanes[i];
}

inline std::uint64_t positive_bits(Vec v) {
  return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_GT_OQ)));
}
inline __m256 lanes_of_bits(std::uint64_t bits) {
  const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  return _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(static_cast<int>(bits)), bit), bit));
}
inline Vec keep_by_bits(std::uint64_t bits, Vec v) { return _mm256_and_ps(lanes_of_bits(bits), v); }
inline Vec take_by_bits(std::uint64_t bits, Vec v, Vec other) {
  return _mm256_blendv_ps(other, v, lanes_of_bits(bits));
}
inline Vec keep_where_positive(Vec condition, Vec v) {
  return _mm256_and_ps(_mm256_cmp_ps(condition, _mm256_setzero_ps(), _CMP_GT_OQ), v);
}
inline Vec keep_where_equal(IntVec a, IntVec b, Vec v) {
  return _mm256_and_ps(
      _mm256_castsi256_ps(_mm256_cmpeq_epi32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b))), v);
}

inline void take_larger(Vec& best, IntVec& index, Vec v, int k) {  // without blends, which are slow here
  const __m256 nan = _mm256_cmp_ps(v, v, _CMP_UNORD_Q);
  const __m256i take = _mm256_castps_si256(_mm256_or_ps(nan, _mm256_cmp_ps(v, best, _CMP_GT_OQ)));
  best = _mm256_or_ps(nan, _mm256_max_ps(v, best));  // max(v, b) is b if either is NaN
  index = reinterpret_cast<IntVec>(
      _mm256_max_epi32(reinterpret_cast<__m256i>(index), _mm256_and_si256(take, _mm256_set1_epi32(k))));
}

inline Vec permute(Vec v, IntVec lanes) { return _mm256_permutevar8x32_ps(v, reinterpret_cast<__m256i>(lanes)); }

inline void interleave(Vec a, Vec b, Vec& low, Vec& high) {
  const __m256 left = _mm256_unpacklo_ps(a, b), right = _mm256_unpackhi_ps(a, b);
  low = _mm256_permute2f128_ps(left, right, 0x20);
  high = _mm256_permute2f128_ps(left, right, 0x31);
}
inline Vec even_then_odd(Vec a, Vec b) {
  const __m256 even = _mm256_permutevar8x32_ps(a, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
  const __m256 odd = _mm256_permutevar8x32_ps(b, _mm256_setr_epi32(1, 3, 5, 7, 1, 3, 5, 7));
  return _mm256_blend_ps(even, odd, 0xF0);
}
inline Vec gather(const float* p, std::int64_t stride, int n) {
  const __m256i at =
      _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(static_cast<int>(stride)));
  return _mm256_mask_i32gather_ps(_mm256_setzero_ps(), p, at, _mm256_castsi256_ps(first_lanes(n)), 4);
}

#endif

// p[0], p[stride], .. (n of them, 1 <= n <= kWidth); reads nothing past the last one.
inline Vec load_strided(const float* p, std::int64_t stride, int n) {
  if (stride == 1) return n == kWidth ? load(p) : load_first(p, n);
  if (stride != 2) return gather(p, stride, n);
  const int span = 2 * n - 1;
  if (span < kWidth) return even_then_odd(load_first(p, span), Vec{});
  if (n < kWidth) return even_then_odd(load(p), load_first(p + kWidth - 1, span - (kWidth - 1)));
  return even_then_odd(load(p), load(p + kWidth - 1));
}

// p[0] += v[0], p[stride] += v[1], .. (n of them)
inline void add_strided(float* p, std::int64_t stride, Vec v, int n) {
  if (stride == 1) return store_first(p, load_first(p, n) + v, n);
  if (stride == 2) {
    Vec low, high;
    interleave(v, Vec{}, low, high);
    const int span = 2 * n - 1, first = span < kWidth ? span : kWidth;
    store_first(p, load_first(p, first) + low, first);
    if (span > kWidth) store_first(p + kWidth, load_first(p + kWidth, span - kWidth) + high, span - kWidth);
    return;
  }
  for (int i = 0; i < n; ++i) p[i * stride] += v[i];
}

// How a kernel touches a whole vector, or the first n lanes of one (other lanes read as 0 and are not written).
struct WholeVector {
  int lanes() const { return kWidth; }
  Vec load(const float* p) const { return BELFRY_ISA::load(p); }
  void store(float* p, Vec v) const { BELFRY_ISA::store(p, v); }
  Vec keep(Vec v) const { return v; }
  IntVec load(const std::uint8_t* p) const { return load_u8(p); }
  void store(std::uint8_t* p, IntVec v) const { store_u8(p, v); }
};
struct PartialVector {
  int n;
  int lanes() const { return n; }
  Vec load(const float* p) const { return load_first(p, n); }
  void store(float* p, Vec v) const { store_first(p, v, n); }
  Vec keep(Vec v) const { return keep_first(v, n); }  // 0 in the other lanes
  IntVec load(const std::uint8_t* p) const { return load_u8_partial(p, n); }
  void store(std::uint8_t* p, IntVec v) const { store_u8_partial(p, v, n); }
};

}  // namespace
}  // namespace belfry::BELFRY_ISA
