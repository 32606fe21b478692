// The functions of lanes.h and vec.h for vectors of doubles: kernels written once for both types need these names.
#pragma once

#include "belfry/engine/cpu/vector/lanes.h"

namespace belfry::BELFRY_ISA {
namespace {

typedef double UnalignedDoubleVec __attribute__((vector_size(kWidth * 4), aligned(8)));

inline DoubleVec load(const double* p) { return *reinterpret_cast<const UnalignedDoubleVec*>(p); }
inline void store(double* p, DoubleVec v) { *reinterpret_cast<UnalignedDoubleVec*>(p) = v; }

// The first n lanes, 0 <= n <= kWidth / 2; lanes beyond are zero and their memory is not touched.
#ifdef __AVX512F__
inline __mmask8 first_wide_lanes(std::int64_t n) { return static_cast<__mmask8>((1u << n) - 1); }
inline DoubleVec load_first(const double* p, std::int64_t n) {
  return (DoubleVec)_mm512_maskz_loadu_pd(first_wide_lanes(n), p);
}
inline void store_first(double* p, DoubleVec v, std::int64_t n) {
  _mm512_mask_storeu_pd(p, first_wide_lanes(n), (__m512d)v);
}
inline DoubleVec sqrt(DoubleVec v) { return (DoubleVec)_mm512_sqrt_pd((__m512d)v); }
inline DoubleVec larger(DoubleVec a, DoubleVec b) { return (DoubleVec)_mm512_max_pd((__m512d)a, (__m512d)b); }
#else
inline __m256i first_wide_lanes(std::int64_t n) {
  const LongVec lane = {0, 1, 2, 3};
  return (__m256i)(lane < n);
}
inline DoubleVec load_first(const double* p, std::int64_t n) {
  return (DoubleVec)_mm256_maskload_pd(p, first_wide_lanes(n));
}
inline void store_first(double* p, DoubleVec v, std::int64_t n) {
  _mm256_maskstore_pd(p, first_wide_lanes(n), (__m256d)v);
}
inline DoubleVec sqrt(DoubleVec v) { return (DoubleVec)_mm256_sqrt_pd((__m256d)v); }
inline DoubleVec larger(DoubleVec a, DoubleVec b) { return (DoubleVec)_mm256_max_pd((__m256d)a, (__m256d)b); }
#endif

}  // namespace
}  // namespace belfry::BELFRY_ISA
