// The vector type of the kernels in this folder. Each source here is compiled once per instruction set, with
// BELFRY_ISA naming it (avx2, avx512); its functions live in namespace belfry::BELFRY_ISA and are reached through a
// table in kernels.h. Rules that keep an AVX-512 instruction from leaking into code that any machine runs:
// everything that is not an exported kernel has internal linkage (anonymous namespace, static), and sources here
// include no standard-library templates that the linker could merge across instruction sets.
#pragma once

#include <immintrin.h>

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
inline Vec splat(float x) { return Vec{} + x; }
inline Vec max(Vec a, Vec b) { return a > b ? a : b; }
inline Vec min(Vec a, Vec b) { return a < b ? a : b; }
inline float sum(Vec v) {
  float s = 0;
  for (int i = 0; i < kWidth; ++i) s += v[i];
  return s;
}

}  // namespace
}  // namespace belfry::BELFRY_ISA
