// Group normalisation of f32 over any layout that ActivationView describes, one example at a time: the examples are
// distributed over the team, and an example's sums do not depend on its size. Nothing is allocated; scratch is given.
#pragma once

#include <cstddef>
#include <cstdint>

#include "belfry/engine/cpu/kernel/isa.h"
#include "belfry/engine/cpu/lanes/activation_view.h"

namespace belfry {

// y = gamma (x - mean) inv_std + beta; mean and inv_std [outer][norm_groups]. y may be x.
struct GroupNormForward {
  ActivationView view;
  std::int64_t norm_groups = 1;
  float epsilon = 1e-5f;
  const float *x = nullptr, *gamma = nullptr, *beta = nullptr;
  float *y = nullptr, *mean = nullptr, *inv_std = nullptr;
  void* scratch = nullptr;
  Isa isa = cpu_isa();
};

// With xhat = (x - mean) inv_std, g = gamma dy and E the mean over a group:
//   dx = inv_std (g - E[g] - xhat E[g xhat]),  dgamma = sum(dy xhat),  dbeta = sum(dy). dx may be dy or x.
struct GroupNormBackward {
  ActivationView view;
  std::int64_t norm_groups = 1;
  const float *dy = nullptr, *x = nullptr, *gamma = nullptr, *mean = nullptr, *inv_std = nullptr;
  float *dx = nullptr, *dgamma = nullptr, *dbeta = nullptr;
  void* scratch = nullptr;
  Isa isa = cpu_isa();
};

void group_norm_forward(const GroupNormForward& args);
void group_norm_backward(const GroupNormBackward& args);

std::size_t group_norm_scratch_bytes(const ActivationView& view, int team, Isa isa = cpu_isa());

}  // namespace belfry
