#include "belfry/engine/cpu/matmul/gemm_simd.h"

#include "belfry/engine/cpu/vector/lanes.h"
#include "belfry/engine/cpu/vector/transpose.h"

namespace belfry::BELFRY_ISA {
namespace {

// A tile of kTileRows x kTileVectors sums, a vector for each of b's and one of a's numbers fill the registers.
#ifdef __AVX512F__
constexpr int kTileRows = 8, kTileVectors = 3;
inline Vec broadcast(const float* p) { return (Vec)_mm512_set1_ps(*p); }
#else
constexpr int kTileRows = 6, kTileVectors = 2;
inline Vec broadcast(const float* p) { return (Vec)_mm256_broadcast_ss(p); }
#endif

// A panel of b: the columns from `column` on.
struct Panel {
  std::int64_t column, columns;
  int vectors;
};
inline Panel panel_at(std::int64_t n, std::int64_t column, int panel_vectors) {
  const int most = panel_vectors == 0 ? kTileVectors : panel_vectors;
  const std::int64_t left = n - column, columns = left < most * kWidth ? left : most * kWidth;
  return {column, columns, static_cast<int>((columns + kWidth - 1) / kWidth)};
}

// The rows of a tile of a, and the step along k.
template <int rows>
struct ByRows {
  const float* row[rows];
  ByRows(const simd::Gemm& g, const float* a) {
    for (int r = 0; r < rows; ++r) row[r] = a + r * g.a_row;
  }
  const float* at(int r, std::int64_t p) const { return row[r] + p; }
};
template <int rows>
struct ByColumns {
  const float* tile;
  std::int64_t step;
  ByColumns(const simd::Gemm& g, const float* a) : tile(a), step(g.a_step) {}
  const float* at(int r, std::int64_t p) const { return tile + p * step + r; }
};

// Columns of a tile at y or start: whole vectors, except perhaps the last.
template <int vectors>
inline Vec load_column(const float* row, int v, std::int64_t columns) {
  return v + 1 < vectors || columns == vectors * kWidth ? load(row + v * kWidth)
                                                        : load_first(row + v * kWidth, columns - v * kWidth);
}

template <template <int> class Left, int rows, int vectors>
void multiply_tile(const simd::Gemm& g, const float* a, const float* b, const float* start, float* y,
                   std::int64_t columns) {
  const Left<rows> left(g, a);
  Vec sum[rows][vectors];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v)
      sum[r][v] = start == nullptr ? Vec{} : load_column<vectors>(start + r * g.start_row, v, columns);
  for (std::int64_t p = 0; p < g.k; ++p, b += vectors * kWidth) {
    Vec right[vectors];
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) right[v] = load(b + v * kWidth);
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      const Vec factor = broadcast(left.at(r, p));
#pragma GCC unroll 3
      for (int v = 0; v < vectors; ++v) sum[r][v] = fma(factor, right[v], sum[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) {
      float* to = y + r * g.y_row + v * kWidth;
      if (v + 1 < vectors || columns == vectors * kWidth) {
        store(to, sum[r][v]);
      } else {
        store_first(to, sum[r][v], columns - v * kWidth);
      }
    }
}

using TileFunction = void (*)(const simd::Gemm&, const float* a, const float* b, const float* start, float* y,
                              std::int64_t columns);

// Tables by rows - 1 and vectors - 1.
template <template <int> class Left, int rows>
constexpr void fill_rows(TileFunction (&table)[kTileRows][kTileVectors]) {
  table[rows - 1][0] = multiply_tile<Left, rows, 1>;
  table[rows - 1][1] = multiply_tile<Left, rows, 2>;
  if constexpr (kTileVectors > 2) table[rows - 1][2] = multiply_tile<Left, rows, 3>;
  if constexpr (rows > 1) fill_rows<Left, rows - 1>(table);
}
template <template <int> class Left>
struct Tiles {
  TileFunction at[kTileRows][kTileVectors] = {};
  constexpr Tiles() { fill_rows<Left, kTileRows>(at); }
};
constexpr Tiles<ByRows> kByRows;
constexpr Tiles<ByColumns> kByColumns;

// Rows of a that stay in the second-level cache while all panels pass by.
constexpr std::int64_t kChunkRows = 16 * kTileRows;

void multiply(const simd::Gemm& g) {
  const auto& tiles = g.by_columns ? kByColumns.at : kByRows.at;
  const std::int64_t a_tile = g.by_columns ? g.a_tile : kTileRows * g.a_row;
  for (std::int64_t chunk = 0; chunk < g.m; chunk += kChunkRows) {
    const std::int64_t end = g.m - chunk < kChunkRows ? g.m : chunk + kChunkRows;
    const float* b = g.b;
    for (Panel at = panel_at(g.n, 0, g.panel_vectors); at.columns > 0;
         at = panel_at(g.n, at.column + at.columns, g.panel_vectors)) {
      for (std::int64_t row = chunk; row < end; row += kTileRows) {
        const std::int64_t rows = end - row < kTileRows ? end - row : kTileRows;
        const float* start = g.start == nullptr ? nullptr : g.start + row * g.start_row + at.column;
        tiles[rows - 1][at.vectors - 1](g, g.a + row / kTileRows * a_tile, b, start, g.y + row * g.y_row + at.column,
                                        at.columns);
      }
      b += (g.packed_k > g.k ? g.packed_k : g.k) * at.vectors * kWidth;
    }
  }
}

void pack(const simd::GemmPack& args) {
  float* to = args.to;
  for (Panel at = panel_at(args.n, 0, args.panel_vectors); at.columns > 0;
       at = panel_at(args.n, at.column + at.columns, args.panel_vectors)) {
    const std::int64_t columns = at.columns, width = at.vectors * kWidth;
    const float* from = args.from + at.column * args.column;
    if (args.column == 1) {
      for (std::int64_t p = 0; p < args.k; ++p)
        for (std::int64_t j = 0; j < width; j += kWidth) {
          const std::int64_t left = columns - j;
          store(to + p * width + j,
                left >= kWidth ? load(from + p * args.row + j) : load_first(from + p * args.row + j, left));
        }
    } else {
      transpose(from, args.column, to, width, columns, args.k);
      for (std::int64_t p = 0; p < args.k && columns < width; ++p)
        for (std::int64_t j = columns; j < width; ++j) to[p * width + j] = 0;
    }
    to += args.k * width;
  }
}

void pack_left(const simd::GemmLeftPack& args) {
  float* to = args.to;
  for (std::int64_t row = 0; row < args.m; row += kTileRows) {
    const std::int64_t rows = args.m - row < kTileRows ? args.m - row : kTileRows;
    const float* from = args.from + row;
    for (std::int64_t p = 0; p < args.k; ++p, to += kTileRows)
      for (std::int64_t r = 0; r < rows; ++r) to[r] = from[p * args.step + r];
  }
}

}  // namespace

const simd::GemmKernels kGemm = {kTileRows, kWidth, pack, pack_left, multiply};

}  // namespace belfry::BELFRY_ISA
