#include "belfry/engine/cpu/conv/conv_tiles.h"

#include "belfry/engine/cpu/tiles/block.h"
#include "belfry/engine/cpu/tiles/pack.h"

namespace belfry::tiles {
namespace {

void finish_pixel(const TapSum& x, std::int64_t column, const float* sums, float* y) {
  for (std::int64_t at = column; at < x.n && at < column + kBlock; at += 16) {
    const __mmask16 lanes = first_lanes(x.n - at);
    __m512 sum = _mm512_load_ps(sums + at - column);
    if (x.bias != nullptr) sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(lanes, x.bias + at));
    // Values below 0, but not NaN.
    if (x.relu)
      sum = _mm512_mask_mul_ps(sum, _mm512_cmp_ps_mask(sum, _mm512_setzero_ps(), _CMP_LT_OQ), sum,
                               _mm512_set1_ps(x.alpha));
    _mm512_mask_storeu_ps(y + at, lanes, sum);
  }
}

void sum_block(const TapSum& x, std::int64_t line, std::int64_t first, std::int64_t column, float* sums) {
  const std::int64_t rows = x.count - first < kBlock ? x.count - first : kBlock;
  const std::int64_t steps = whole_depth(x.k) / kDepth, block = steps * 2 * kTile,
                     tap = whole_blocks(x.n) / kBlock * block;
  const std::uint16_t *a = x.a + line * x.a_line + first * x.a_stride, *b = x.b + column / kBlock * block;
  choose_block(rows > kRows, x.n - column > kRows, [&]<bool tall, bool wide>() {
    Block<tall, wide>::clear();
    for (int t = 0; t < x.taps; ++t)
      Block<tall, wide>::add({a + x.offsets[t], x.a_stride, x.a_stride * kRows, kDepth}, b + t * tap, steps);
    Block<tall, wide>::store(sums);
  });
  std::int64_t down = first / x.pitch, across = first % x.pitch;
  for (std::int64_t i = 0; i < rows; ++i) {
    if (across < x.width)
      finish_pixel(x, column, sums + i * kBlock, x.y + (line + down) * x.y_line + across * x.y_stride);
    if (++across == x.pitch) across = 0, ++down;
  }
}

}  // namespace

void convert(const float* from, std::int64_t count, std::uint16_t* to) {
  std::int64_t i = 0;
  for (; i + 32 <= count; i += 32) _mm512_storeu_si512(to + i, convert(from + i, 32));
  if (i < count) _mm512_mask_storeu_epi16(to + i, (1u << (count - i)) - 1, convert(from + i, count - i));
}

void sum_taps(const TapSum& x) {
  const TileScope scope;
  alignas(64) float sums[kBlock * kBlock];
  for (std::int64_t column = 0; column < x.n; column += kBlock)
    for (std::int64_t line = 0; line < x.lines; ++line)
      for (std::int64_t first = 0; first < x.count; first += kBlock) sum_block(x, line, first, column, sums);
}

namespace {

inline void load_pairs(const Pixel* pixels, std::int64_t channel, std::int64_t left, __m512i (&r)[16]) {
  for (int i = 0; i < 16; ++i) {
    const Pixel p = pixels[2 * i], q = pixels[2 * i + 1];
    r[i] = convert_pairs(p == nullptr ? _mm512_setzero_ps() : load_first(p + channel, left),
                         q == nullptr ? _mm512_setzero_ps() : load_first(q + channel, left));
  }
}

}  // namespace

void pack_channels(const Pixel* pixels, std::int64_t channels, std::uint16_t* to, std::int64_t row) {
  __m512i r[16];
  for (std::int64_t c = 0; c < channels; c += 16) {
    load_pairs(pixels, c, channels - c, r);
    transpose(r);
    for (int i = 0; i < 16; ++i) _mm512_storeu_si512(to + (c + i) * row, r[i]);
  }
}

void pack_pairs(const Pixel* pixels, std::int64_t channels, std::uint16_t* to, std::int64_t tile_pair) {
  __m512i r[16];
  for (std::int64_t c = 0; c < channels; c += 16) {
    load_pairs(pixels, c, channels - c, r);
    std::uint16_t* tile = to + c / kBlock * tile_pair + c % kBlock / kRows * kTile;
    for (int i = 0; i < 16; ++i) _mm512_store_si512(tile + i * kDepth, r[i]);
  }
}

void sum_pixels(const PixelSum& x) {
  const TileScope scope;
  alignas(64) float sums[kBlock * kBlock];
  for (std::int64_t column = 0; column < x.n; column += kBlock)
    for (std::int64_t row = 0; row < x.m; row += kBlock) {
      const std::int64_t image = x.steps * 2 * kTile;
      const std::uint16_t *a = x.a + row * x.a_row, *b = x.b + column / kBlock * x.images * image;
      choose_block(x.m - row > kRows, x.n - column > kRows, [&]<bool tall, bool wide>() {
        Block<tall, wide>::clear();
        for (std::int64_t i = 0; i < x.images; ++i)
          Block<tall, wide>::add({a + i * x.a_image, x.a_row, x.a_row * kRows, kDepth}, b + i * image, x.steps);
        Block<tall, wide>::store(sums);
      });
      for (std::int64_t i = 0; i < kBlock && row + i < x.m; ++i)
        for (std::int64_t at = column; at < x.n && at < column + kBlock; at += 16) {
          const __mmask16 lanes = first_lanes(x.n - at);
          float* y = x.y + (row + i) * x.y_row + at;
          __m512 sum = _mm512_load_ps(sums + i * kBlock + at - column);
          if (x.add) sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(lanes, y));
          _mm512_mask_storeu_ps(y, lanes, sum);
        }
    }
}

}  // namespace belfry::tiles
