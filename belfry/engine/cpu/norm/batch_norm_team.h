// Batch normalisation with activation and residual fused, over any layout that ActivationView describes. Runs on the
// calling thread's team; results depend only on the inputs, the instruction set and the team size.
// Nothing is allocated: the caller provides scratch and masks, of the sizes that the functions below return.
//
// Aliasing: y may be x or residual; dx or d_residual (not both) may be dy, and dx may be x (but not with dy2, where
// only d_residual may be dy or dy2).
// gamma null is 1, beta null is 0. Sums over no elements at all are 0.
#pragma once

#include <cstddef>
#include <cstdint>

#include "belfry/engine/cpu/kernel/isa.h"
#include "belfry/engine/cpu/lanes/activation_view.h"

namespace belfry {

// y = act(gamma * (x - mean) * inv_std + beta + residual), inv_std = 1 / sqrt(variance + epsilon), with the mean and
// the (biased) variance over everything but the channel, or with given ones.
struct BatchNormForward {
  ActivationView view;
  const float* x = nullptr;
  const float* given_mean = nullptr;  // null: the batch's
  const float* given_variance = nullptr;
  const float* gamma = nullptr;
  const float* beta = nullptr;
  const float* residual = nullptr;  // null: none
  float epsilon = 1e-5f;
  bool relu = false;
  float alpha = 0;               // relu's slope below 0
  float* y = nullptr;            // null: only the statistics are wanted
  float* mean = nullptr;         // of the batch; not written if statistics are given; null without y: not wanted
  float* variance = nullptr;     // the same; null: not wanted
  float* inv_std = nullptr;      // the same; null: not wanted
  double* sum = nullptr;         // of a channel's elements, the same; null: not wanted
  double* square_sum = nullptr;  // of their squares; wanted if `sum` is
  std::uint8_t* mask = nullptr;  // relu's signs for the backward pass; null: not wanted
  void* scratch = nullptr;
  Isa isa = cpu_isa();
};

// With xhat = (x - mean) * inv_std and g = dy where the mask is set (no mask: everywhere), else alpha * dy:
//   dbeta = sum(g), dgamma = sum(g * xhat), d_residual = g,
//   dx = gamma * inv_std * (g - mean(g) - xhat * mean(g * xhat)),
// or, with statistics that were given and are constants, dx = gamma * inv_std * g.
struct BatchNormBackward {
  ActivationView view;
  const float* dy = nullptr;
  const float* dy2 = nullptr;  // if not null, dy is the sum of both (not with constant statistics)
  const float* x = nullptr;
  const float* mean = nullptr;
  const float* inv_std = nullptr;
  const float* gamma = nullptr;
  const std::uint8_t* mask = nullptr;  // of the forward pass, if it had relu
  float alpha = 0;                     // of relu in the forward pass
  bool constant_statistics = false;
  float* dx = nullptr;          // null: only dgamma and dbeta are wanted (not with dy2 or constant statistics)
  float* dgamma = nullptr;      // null: not wanted
  float* dbeta = nullptr;       // null: not wanted
  float* d_residual = nullptr;  // null: not wanted
  void* scratch = nullptr;
  Isa isa = cpu_isa();
};

// dx = scale * dy + slope * (x - mean) + shift, where all but dy and x are numbers of the channel. dx may be dy or x.
struct BatchNormBlend {
  ActivationView view;
  const float* dy = nullptr;
  const float* x = nullptr;
  const float* mean = nullptr;
  const float* scale = nullptr;
  const float* slope = nullptr;
  const float* shift = nullptr;
  float* dx = nullptr;
  void* scratch = nullptr;
  Isa isa = cpu_isa();
};

void batch_norm_forward(const BatchNormForward& args);
void batch_norm_backward(const BatchNormBackward& args);
void batch_norm_blend(const BatchNormBlend& args);

std::size_t batch_norm_scratch_bytes(const ActivationView& view, int team, Isa isa = cpu_isa());
std::size_t batch_norm_mask_bytes(const ActivationView& view, Isa isa = cpu_isa());

}  // namespace belfry
