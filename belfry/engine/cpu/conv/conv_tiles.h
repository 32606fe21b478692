// Convolutions with the CPU's bf16 tiles (see tile_gemm.h for the rules): sums of products of pixels with a filter's
// taps, without copying the pixels, and of pixels with pixels for the filter's gradient. One thread's share.
#pragma once

#include <cstdint>

namespace belfry::tiles {

// Rounded to bf16.
void convert(const float* from, std::int64_t count, std::uint16_t* to);

// y(position) = act(bias + sum over taps of a(position + offset of the tap) times the tap's matrix [k][n]).
// Positions are counted along each of `lines`; position p of a line is pixel p % pitch of the line p / pitch below it,
// and skipped if p % pitch is not below `width`.
struct TapSum {
  std::int64_t lines = 0, count = 0, pitch = 0, width = 0;
  const std::uint16_t* a = nullptr;       // k numbers of a tap side by side; 31 more are read, and must be finite
  std::int64_t a_line = 0, a_stride = 0;  // in numbers, between lines and positions
  int taps = 0;
  const std::int64_t* offsets = nullptr;  // by tap, in numbers
  const std::uint16_t* b = nullptr;       // by tap: packed [block of n][step of k][2 tiles]
  std::int64_t k = 0, n = 0;
  float* y = nullptr;  // n numbers a pixel side by side
  std::int64_t y_line = 0, y_stride = 0;
  const float* bias = nullptr;
  bool relu = false;
  float alpha = 0;  // relu's slope below 0
};
void sum_taps(const TapSum& args);

// Pixels of an image in the order in which they are paired; null is a pixel of zeros.
using Pixel = const float*;

// Channels of 32 pixels, each channel's side by side: to[c * row + i], channels as many as whole tiles hold.
void pack_channels(const Pixel* pixels, std::int64_t channels, std::uint16_t* to, std::int64_t row);
// The same 32 pixels as one step of a right factor: tiles of 16 channels, `tile_pair` numbers from one pair of tiles to
// the next.
void pack_pairs(const Pixel* pixels, std::int64_t channels, std::uint16_t* to, std::int64_t tile_pair);

// y[m][n] = start + sum over images and pixels of a(channel m, pixel) * b(channel n, pixel)
struct PixelSum {
  std::int64_t m = 0, n = 0, images = 0, steps = 0;  // steps of 32 pixels, an image
  const std::uint16_t* a = nullptr;                  // pack_channels', from any pixel on
  std::int64_t a_row = 0, a_image = 0;
  const std::uint16_t* b = nullptr;  // pack_pairs': [block of n][image][step][2 tiles]
  float* y = nullptr;
  std::int64_t y_row = 0;
  bool add = false;  // to what y holds
};
void sum_pixels(const PixelSum& args);

}  // namespace belfry::tiles
