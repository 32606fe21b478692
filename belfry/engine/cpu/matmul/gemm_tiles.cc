#include "belfry/engine/cpu/matmul/gemm_tiles.h"

#include "belfry/engine/cpu/tiles/block.h"
#include "belfry/engine/cpu/tiles/pack.h"

namespace belfry::tiles {
namespace {

// A tile of a is [line][depth], one of b [pair of depth][line][2]: where memory has it the other way, pairs change
// places in registers.
template <bool left>
void pack_tile(const Factor& f, std::int64_t line, std::int64_t p, std::uint16_t* to) {
  const std::int64_t lines = f.lines - line, depth = f.k - p;
  __m512i r[16];
  for (int i = 0; i < 16; ++i) {
    if (f.by_depth) {
      const float* from = f.from + (p + 2 * i) * f.stride + line;
      const __m512 upper = 2 * i < depth ? load_first(from, lines) : _mm512_setzero_ps();
      const __m512 lower = 2 * i + 1 < depth ? load_first(from + f.stride, lines) : _mm512_setzero_ps();
      r[i] = convert_pairs(upper, lower);
    } else {
      r[i] = i < lines ? convert(f.from + (line + i) * f.stride + p, depth) : _mm512_setzero_si512();
    }
  }
  if (left == f.by_depth) transpose(r);
  for (int i = 0; i < 16; ++i) _mm512_store_si512(to + i * kDepth, r[i]);
}

template <bool left>
void pack(const Factor& f) {
  std::uint16_t* to = f.to;
  for (std::int64_t line = 0; line < f.lines; line += kBlock)
    for (std::int64_t p = 0; p < f.k; p += kDepth)
      for (int half = 0; half < 2; ++half, to += kTile) pack_tile<left>(f, line + half * kRows, p, to);
}

void finish_block(const Product& x, std::int64_t row, std::int64_t column, const float* sums) {
  const std::int64_t rows = x.m - row < kBlock ? x.m - row : kBlock, columns = x.n - column;
  for (std::int64_t i = 0; i < rows; ++i)
    for (int half = 0; half < 2 && half * 16 < columns; ++half) {
      const __mmask16 lanes = first_lanes(columns - half * 16);
      const std::int64_t at = column + half * 16;
      __m512 sum = _mm512_load_ps(sums + i * kBlock + half * 16);
      if (x.start != nullptr)
        sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(lanes, x.start + (row + i) * x.start_row + at));
      if (x.relu) sum = _mm512_max_ps(_mm512_setzero_ps(), sum);  // in this order a NaN stays
      _mm512_mask_storeu_ps(x.y + (row + i) * x.y_row + at, lanes, sum);
    }
}

}  // namespace

void pack_left(const Factor& factor) { pack<true>(factor); }
void pack_right(const Factor& factor) { pack<false>(factor); }

void multiply(const Product& x) {
  const TileScope scope;
  alignas(64) float sums[kBlock * kBlock];
  const std::int64_t steps = whole_depth(x.k) / kDepth, block = steps * 2 * kTile;
  for (std::int64_t column = 0; column < x.n; column += kBlock)
    for (std::int64_t row = 0; row < x.m; row += kBlock) {
      const std::uint16_t *a = x.a + row / kBlock * block, *b = x.b + column / kBlock * block;
      choose_block(x.m - row > kRows, x.n - column > kRows, [&]<bool tall, bool wide>() {
        Block<tall, wide>::clear();
        Block<tall, wide>::add({a, kDepth, kTile, 2 * kTile}, b, steps);
        Block<tall, wide>::store(sums);
      });
      finish_block(x, row, column, sums);
    }
}

}  // namespace belfry::tiles
