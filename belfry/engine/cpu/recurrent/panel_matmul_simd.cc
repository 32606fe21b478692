#include "belfry/engine/cpu/recurrent/panel_matmul_simd.h"

#include "belfry/engine/cpu/vector/lanes.h"
#include "belfry/engine/cpu/vector/transpose.h"

namespace belfry::BELFRY_ISA {
namespace {

// A tile of c is held in registers: this many rows by two vectors, or by a remaining single one.
#ifdef __AVX512F__
constexpr int kMostRows = 12;
// One number in every lane, loaded from memory: a register shuffle would compete with multiply-adds.
inline Vec broadcast(const float* p) { return (Vec)_mm512_set1_ps(*p); }
#else
constexpr int kMostRows = 6;
inline Vec broadcast(const float* p) { return (Vec)_mm256_broadcast_ss(p); }
#endif
constexpr std::int64_t kPanel = 2 * kWidth;
constexpr std::int64_t kDepth = 256;  // of a slice of a and b: a panel of it fits the first cache

std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

// Panels one after the other; within one, a row of panel_width(..) columns for each step along the depth, padded with
// zeros.
std::int64_t panel_width(std::int64_t columns_left) { return columns_left <= kWidth ? kWidth : kPanel; }

void pack(const simd::PanelPack& p) {
  float* to = p.packed;
  for (std::int64_t first = 0; first < p.columns;) {
    const std::int64_t width = panel_width(p.columns - first), used = least(width, p.columns - first);
    if (p.transposed) {
      transpose(p.b + first * p.depth, p.depth, to, width, used, p.depth);
      for (std::int64_t k = 0; k < p.depth; ++k) {
        for (std::int64_t i = used; i < width; ++i) to[k * width + i] = 0;
      }
    } else {
      for (std::int64_t k = 0; k < p.depth; ++k) {
        const float* from = p.b + k * p.columns + first;
        const std::int64_t low = least(used, kWidth);
        store(to + k * width, load_first(from, low));
        if (width > kWidth) store(to + k * width + kWidth, load_first(from + low, used - low));
      }
    }
    to += p.depth * width;
    first += width;
  }
}

// c[r][0 .. columns) += sum over k of a[k][r] b[k][..]
template <int kRows, int kVectors>
void multiply_tile(const float* a, const float* b, std::int64_t depth, float* c, std::int64_t c_stride,
                   std::int64_t columns) {
  const std::int64_t last = columns - (kVectors - 1) * kWidth;  // columns of the last vector
  Vec sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors - 1; ++v) sum[r][v] = load(c + r * c_stride + v * kWidth);
    sum[r][kVectors - 1] = load_first(c + r * c_stride + (kVectors - 1) * kWidth, last);
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    Vec row[kVectors];
    for (int v = 0; v < kVectors; ++v) row[v] = load(b + v * kWidth);
    for (int r = 0; r < kRows; ++r) {
      const Vec factor = broadcast(a + r);
      for (int v = 0; v < kVectors; ++v) sum[r][v] = fma(factor, row[v], sum[r][v]);
    }
    a += kRows;
    b += kVectors * kWidth;
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors - 1; ++v) store(c + r * c_stride + v * kWidth, sum[r][v]);
    store_first(c + r * c_stride + (kVectors - 1) * kWidth, sum[r][kVectors - 1], last);
  }
}

// All columns of kRows rows.
template <int kRows>
void multiply_rows(const simd::PanelProduct& p, std::int64_t row) {
  alignas(64) float a[kRows * kDepth];
  for (std::int64_t k = 0; k < p.depth; k += kDepth) {
    const std::int64_t depth = least(kDepth, p.depth - k);
    transpose(p.a + row * p.depth + k, p.depth, a, kRows, kRows, depth);
    for (std::int64_t first = 0; first < p.columns;) {
      const std::int64_t left = p.columns - first, width = panel_width(left);
      const float* b = p.packed + first * p.depth + k * width;
      float* c = p.c + row * p.columns + first;
      if (width == kPanel)
        multiply_tile<kRows, 2>(a, b, depth, c, p.columns, least(left, kPanel));
      else
        multiply_tile<kRows, 1>(a, b, depth, c, p.columns, left);
      first += width;
    }
  }
}

void multiply_add(const simd::PanelProduct& p) {
  using Multiply = void (*)(const simd::PanelProduct&, std::int64_t);
  static constexpr Multiply kByRows[] = {
      multiply_rows<1>, multiply_rows<2>, multiply_rows<3>, multiply_rows<4>,  multiply_rows<5>,  multiply_rows<6>,
#ifdef __AVX512F__
      multiply_rows<7>, multiply_rows<8>, multiply_rows<9>, multiply_rows<10>, multiply_rows<11>, multiply_rows<12>,
#endif
  };
  const std::int64_t tiles = (p.rows + kMostRows - 1) / kMostRows;
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    const std::int64_t begin = p.rows * tile / tiles, end = p.rows * (tile + 1) / tiles;
    kByRows[end - begin - 1](p, begin);
  }
}

}  // namespace

const simd::PanelKernels kPanels = {pack, multiply_add};

}  // namespace belfry::BELFRY_ISA
