// Gradients of a bias and of ReLU over any layout that ActivationView describes, on the calling thread's team. Scratch
// is given, of the size that bias_gradient_scratch_bytes says. A sum over no elements is 0.
#pragma once

#include <cstddef>

#include "belfry/engine/cpu/kernel/isa.h"
#include "belfry/engine/cpu/lanes/activation_view.h"

namespace belfry {

// dbias = sum(dy) over everything but the channel
struct BiasGradient {
  ActivationView view;
  const float* dy = nullptr;
  float* dbias = nullptr;
  void* scratch = nullptr;
  Isa isa = cpu_isa();
};

// dx = y > 0 ? dy : 0, dbias = sum(dx); one pass. dx may be dy or y.
struct ReluBackwardBias {
  ActivationView view;
  const float* dy = nullptr;
  const float* y = nullptr;
  float* dx = nullptr;
  float* dbias = nullptr;  // null: not wanted
  void* scratch = nullptr;
  Isa isa = cpu_isa();
};

void bias_gradient(const BiasGradient& args);
void relu_backward_bias(const ReluBackwardBias& args);

std::size_t bias_gradient_scratch_bytes(const ActivationView& view, int team, Isa isa = cpu_isa());

}  // namespace belfry
