// Sums over a Run by lane, alone or together with other work on the same memory.
#pragma once

#include "belfry/engine/cpu/vector/run.h"

namespace belfry::simd {

// sum = sum(x) by lane
struct LaneSums {
  Run run;
  const float* x = nullptr;
  float* sum = nullptr;
};

// dx = y > 0 ? dy : 0; sum = sum(dx) by lane
struct ReluGradientSums {
  Run run;
  const float* dy = nullptr;
  const float* y = nullptr;
  float* dx = nullptr;
  float* sum = nullptr;
};

// x = act(x + values), by lane
struct LaneBias {
  Run run;
  float* x = nullptr;
  const float* values = nullptr;
  bool relu = false;
  float alpha = 0;  // relu's slope below 0
};

struct LaneSumKernels {
  void (*sums)(const LaneSums&);
  void (*relu_gradient_sums)(const ReluGradientSums&);
  void (*bias)(const LaneBias&);
};

}  // namespace belfry::simd

namespace belfry::avx2 {
extern const simd::LaneSumKernels kLaneSums;
}
namespace belfry::avx512 {
extern const simd::LaneSumKernels kLaneSums;
}
