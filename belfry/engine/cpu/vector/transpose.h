// Small transposes in registers of 8 floats, available in both instruction sets.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "belfry/engine/cpu/vector/vec.h"

namespace belfry::BELFRY_ISA {
namespace {

// to[c][r] = from[r][c] for an 8 x 8 block; strides in floats.
inline void transpose_8x8(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride) {
  __m256 row[8], pair[8], quad[8];
  for (int i = 0; i < 8; ++i) row[i] = _mm256_loadu_ps(from + i * from_stride);
  for (int i = 0; i < 4; ++i) {
    pair[2 * i] = _mm256_unpacklo_ps(row[2 * i], row[2 * i + 1]);
    pair[2 * i + 1] = _mm256_unpackhi_ps(row[2 * i], row[2 * i + 1]);
  }
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 2; ++i) {
      const __m256 a = pair[4 * half + i], b = pair[4 * half + 2 + i];
      quad[4 * half + 2 * i] = _mm256_shuffle_ps(a, b, 0x44);
      quad[4 * half + 2 * i + 1] = _mm256_shuffle_ps(a, b, 0xEE);
    }
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(to + i * to_stride, _mm256_permute2f128_ps(quad[i], quad[4 + i], 0x20));
    _mm256_storeu_ps(to + (i + 4) * to_stride, _mm256_permute2f128_ps(quad[i], quad[4 + i], 0x31));
  }
}

// The same for any rows x columns; full blocks go through registers.
inline void transpose(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride, std::int64_t rows,
                      std::int64_t columns) {
  const std::int64_t full_rows = rows / 8 * 8, full_columns = columns / 8 * 8;
  for (std::int64_t c = 0; c < full_columns; c += 8) {
    for (std::int64_t r = 0; r < full_rows; r += 8) {
      transpose_8x8(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
    }
  }
  for (std::int64_t c = 0; c < columns; ++c) {
    const std::int64_t done = c < full_columns ? full_rows : 0;
    for (std::int64_t r = done; r < rows; ++r) to[c * to_stride + r] = from[r * from_stride + c];
  }
}

}  // namespace
}  // namespace belfry::BELFRY_ISA
