// Depthwise convolution of one vector of channels of one image: x [in_h][in_w][lane], y [out_h][out_w][lane], filter
// [kernel_h * kernel_w][lane]. Tap (ky, kx) of output (oy, ox) meets the cell (oy * stride_h - pad_top + ky *
// dilation_h, ox * stride_w - pad_left + kx * dilation_w), if it exists. Pads may be negative.
//
// With a channel multiplier, lane i of y and of the filter belongs to lane lanes[i] of x; null: to lane i.
#pragma once

#include <cstdint>

namespace belfry::simd {

struct DepthwiseWindow {
  std::int64_t in_h = 0, in_w = 0;
  std::int64_t out_h = 0, out_w = 0;
  std::int64_t kernel_h = 0, kernel_w = 0;
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t dilation_h = 1, dilation_w = 1;
  std::int64_t pad_top = 0, pad_left = 0;
};

// One row of y = act(bias + sum over taps of filter * x); output ox is written at y + ox * step.
struct DepthwiseRow {
  DepthwiseWindow window;
  std::int64_t row = 0;
  const float* x = nullptr;
  const float* filter = nullptr;  // the first tap's
  std::int64_t tap = 0;           // from one tap to the next, in floats; negative: the filter is reversed
  const float* bias = nullptr;    // null: 0
  float* y = nullptr;
  std::int64_t step = 0;
  bool relu = false;
  const std::int32_t* lanes = nullptr;
};

// One row of dx = sum of filter * dy over the outputs that use the cell; cell ix is written at dx + ix * step.
struct DepthwiseGradientRow {
  DepthwiseWindow window;
  std::int64_t row = 0;
  const float* dy = nullptr;
  const float* filter = nullptr;
  float* dx = nullptr;
  std::int64_t step = 0;
};

// to[lane] = from[lane * multiplier] + .. + from[lane * multiplier + multiplier - 1], for each of `cells`; from has
// multiplier vectors per cell.
struct DepthwiseFold {
  std::int64_t cells = 0, multiplier = 1;
  const float* from = nullptr;
  float* to = nullptr;
};

// dfilter += sum over outputs of x * dy; dbias += sum of dy.
struct DepthwiseFilterGradient {
  DepthwiseWindow window;
  const float* x = nullptr;
  const float* dy = nullptr;
  float* dfilter = nullptr;
  float* dbias = nullptr;  // null: not wanted
  const std::int32_t* lanes = nullptr;
};

struct DepthwiseKernels {
  void (*forward_row)(const DepthwiseRow&);
  void (*gradient_row)(const DepthwiseGradientRow&);
  void (*fold)(const DepthwiseFold&);
  void (*filter_gradient)(const DepthwiseFilterGradient&);
};

}  // namespace belfry::simd

namespace belfry::avx2 {
extern const simd::DepthwiseKernels kDepthwise;
}
namespace belfry::avx512 {
extern const simd::DepthwiseKernels kDepthwise;
}
