// x = act(x + bias) in place, over any layout that ActivationView describes, on the calling thread's team. Padding
// stays zero.
#pragma once

#include <cstddef>

#include "belfry/engine/cpu/kernel/isa.h"
#include "belfry/engine/cpu/lanes/activation_view.h"

namespace belfry {

struct BiasActivation {
  ActivationView view{};
  float* x = nullptr;
  const float* bias = nullptr;  // by channel
  bool relu = false;
  float alpha = 0;  // relu's slope below 0
  void* scratch = nullptr;
  Isa isa = cpu_isa();
};

void bias_activation(const BiasActivation& args);
std::size_t bias_activation_scratch_bytes(const ActivationView& view, int team, Isa isa = cpu_isa());

}  // namespace belfry
