// The vector type of the kernels in this folder. Each source here is compiled once per instruction set, with
// BELFRY_ISA naming it (avx2, avx512); its functions live in namespace belfry::BELFRY_ISA and are reached through the
// table that its header declares. Rules that keep an AVX-512 instruction from leaking into code that any machine runs:
// everything that is not an exported kernel has internal linkage (anonymous namespace, static), and sources here
// include no standard-library templates that the linker could merge across instruction sets.
#pragma once

// g++ 12 takes the deliberately undefined operands inside these headers for a mistake of ours.
#pragma GCC diagnostic push
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop

#include <cstdint>

namespace belfry::BELFRY_ISA {
namespace {

#ifdef __AVX512F__
constexpr int kWidth = 16;
#else
constexpr int kWidth = 8;
#endif

// GCC's and clang's vector extension: + - * / and comparisons work lane by lane.
typedef float Vec __attribute__((vector_size(kWidth * 4)));
typedef std::int32_t IntVec __attribute__((vector_size(kWidth * 4)));
typedef float UnalignedVec __attribute__((vector_size(kWidth * 4), aligned(4)));

inline Vec load(const float* p) { return *reinterpret_cast<const UnalignedVec*>(p); }
inline void store(float* p, Vec v) { *reinterpret_cast<UnalignedVec*>(p) = v; }
// Not `Vec{} + x`: that is an addition, since it makes 0 of -0.
#ifdef __AVX512F__
inline Vec splat(float x) { return (Vec)_mm512_set1_ps(x); }
#else
inline Vec splat(float x) { return (Vec)_mm256_set1_ps(x); }
#endif
inline Vec max(Vec a, Vec b) { return a > b ? a : b; }
inline Vec min(Vec a, Vec b) { return a < b ? a : b; }
inline float sum(Vec v) {
  float s = 0;
  for (int i = 0; i < kWidth; ++i) s += v[i];
  return s;
}

#ifdef __AVX512F__
inline __mmask16 first_lanes(std::int64_t n) { return static_cast<__mmask16>((1u << n) - 1); }
// The first n lanes, 0 <= n <= kWidth; lanes beyond are zero and their memory is not touched.
inline Vec load_first(const float* p, std::int64_t n) { return (Vec)_mm512_maskz_loadu_ps(first_lanes(n), p); }
inline void store_first(float* p, Vec v, std::int64_t n) { _mm512_mask_storeu_ps(p, first_lanes(n), (__m512)v); }
// The first n lanes of v, the others from rest, or 0.
inline Vec take_first(Vec v, std::int64_t n, Vec rest) {
  return (Vec)_mm512_mask_blend_ps(first_lanes(n), (__m512)rest, (__m512)v);
}
inline Vec keep_first(Vec v, std::int64_t n) { return (Vec)_mm512_maskz_mov_ps(first_lanes(n), (__m512)v); }
#else
inline __m256i first_lanes(std::int64_t n) {
  const IntVec lane = {0, 1, 2, 3, 4, 5, 6, 7};
  return (__m256i)(lane < static_cast<std::int32_t>(n));
}
inline Vec load_first(const float* p, std::int64_t n) { return (Vec)_mm256_maskload_ps(p, first_lanes(n)); }
inline void store_first(float* p, Vec v, std::int64_t n) { _mm256_maskstore_ps(p, first_lanes(n), (__m256)v); }
inline Vec take_first(Vec v, std::int64_t n, Vec rest) {
  return (Vec)_mm256_blendv_ps((__m256)rest, (__m256)v, (__m256)first_lanes(n));
}
inline Vec keep_first(Vec v, std::int64_t n) { return (Vec)_mm256_and_ps((__m256)first_lanes(n), (__m256)v); }
#endif

}  // namespace
}  // namespace belfry::BELFRY_ISA
