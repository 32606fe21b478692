// Depthwise convolution: each channel has its own filters, `multiplier` of them. For cases that oneDNN has no fast code
// for: dilated ones backward, filter gradients of large windows, and channel multipliers.
//
// Channels lie in vectors of W = vector_width(isa): x [image][ceil(channels / W)][in_h][in_w][W], y
// [image][ceil(channels * multiplier / W)][out_h][out_w][W], filter [the same vectors][kernel_h * kernel_w][W]. Output
// channel o comes from channel o / multiplier. Padding lanes are zero when read and written as zero.
#pragma once

#include <cstddef>

#include "belfry/engine/cpu/conv/depthwise_simd.h"
#include "belfry/engine/cpu/kernel/isa.h"

namespace belfry {

struct Depthwise {
  std::int64_t images = 0, channels = 0, multiplier = 1;
  simd::DepthwiseWindow window{};

  std::int64_t outputs() const { return channels * multiplier; }
  std::int64_t taps() const { return window.kernel_h * window.kernel_w; }
};

// y = act(conv(x, filter) + bias)
struct DepthwiseForward {
  Depthwise conv;
  const float* x = nullptr;
  const float* filter = nullptr;
  const float* bias = nullptr;  // by output channel; null: none
  bool relu = false;
  float* y = nullptr;
  Isa isa = cpu_isa();
};

struct DepthwiseBackwardData {
  Depthwise conv;
  const float* filter = nullptr;
  const float* dy = nullptr;
  float* dx = nullptr;
  void* scratch = nullptr;
  Isa isa = cpu_isa();
};

// The sums over images have an order that follows from the shapes and the team's size.
struct DepthwiseBackwardFilter {
  Depthwise conv;
  const float* x = nullptr;
  const float* dy = nullptr;
  float* dfilter = nullptr;
  float* dbias = nullptr;  // by output channel; null: not wanted
  void* scratch = nullptr;
  Isa isa = cpu_isa();
};

void depthwise_forward(const DepthwiseForward& args);
void depthwise_backward_data(const DepthwiseBackwardData& args);
void depthwise_backward_filter(const DepthwiseBackwardFilter& args);

std::size_t depthwise_backward_data_scratch(const Depthwise& conv, int team, Isa isa = cpu_isa());
std::size_t depthwise_backward_filter_scratch(const Depthwise& conv, int team, Isa isa = cpu_isa());

}  // namespace belfry
