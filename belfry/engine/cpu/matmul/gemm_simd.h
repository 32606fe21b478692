// Products of matrices, y = start + a b, one thread's share: b is packed into panels of a few vectors of columns, tiles
// of y are held in registers while the loop goes down k. Every element of y is one chain of fused multiply-adds in the
// order of k, whatever the tiles are.
#pragma once

#include <cstdint>

namespace belfry::simd {

struct GemmPack {
  const float* from = nullptr;  // element (p, j) of [k][n] at from[p * row + j * column]; one of the two is 1
  std::int64_t row = 0, column = 0;
  std::int64_t k = 0, n = 0;
  float* to = nullptr;    // gemm_panel_floats() of room
  int panel_vectors = 0;  // of columns in a panel, at most; 0: as many as a tile can take
};

struct GemmLeftPack {
  const float* from = nullptr;  // element (i, p) of [m][k] at from[p * step + i]
  std::int64_t step = 0;
  std::int64_t m = 0, k = 0;
  float* to = nullptr;  // tiles of `tile_rows` rows, each [k][tile_rows]
};

struct Gemm {
  std::int64_t m = 0, n = 0, k = 0;
  // Rows of a lie side by side (row-major, `a_row` apart), or columns do: then element (i, p) of a tile of rows is
  // a[p * a_step + i], and tiles are `a_tile` apart.
  const float* a = nullptr;
  bool by_columns = false;
  std::int64_t a_row = 0, a_step = 0, a_tile = 0;
  const float* b = nullptr;  // packed, in panels of as many vectors
  int panel_vectors = 0;
  std::int64_t packed_k = 0;  // what b was packed with, if that is more than k
  float* y = nullptr;
  std::int64_t y_row = 0;
  // What the sums begin with: null for 0; y itself to add to it; with start_row 0 one row for all (a bias).
  const float* start = nullptr;
  std::int64_t start_row = 0;
};

struct GemmKernels {
  int tile_rows, vector_columns;  // of y in registers; columns of one vector
  void (*pack)(const GemmPack&);
  void (*pack_left)(const GemmLeftPack&);
  void (*multiply)(const Gemm&);
};

constexpr int kGemmNarrowPanel = 2;  // vectors that a tile of any instruction set takes

// Packed columns: whole vectors, the missing ones 0.
inline std::int64_t gemm_panel_floats(std::int64_t k, std::int64_t n, int vector_columns) {
  return k * ((n + vector_columns - 1) / vector_columns * vector_columns);
}

}  // namespace belfry::simd

namespace belfry::avx2 {
extern const simd::GemmKernels kGemm;
}
namespace belfry::avx512 {
extern const simd::GemmKernels kGemm;
}
