// The gates of an LSTM for one row of the batch: the rest of a step after its products.
#pragma once

#include <cstdint>

namespace belfry::simd {

// With a = the sums that gates hold at first, in the order i, f, g, o:
//   i = sigmoid(a_i), f = sigmoid(a_f), g = tanh(a_g), o = sigmoid(a_o);  c = f c_before + i g;  h = o tanh(c)
struct LstmRow {
  std::int64_t units = 0;
  float* gates = nullptr;  // [4 units]: a, then i, f, g, o
  const float* c_before = nullptr;
  float *c = nullptr, *h = nullptr;
  float* next = nullptr;  // h once more: where the next step begins
};

// The gradient of that: with dh = what comes from the output and from the next step,
//   dc += dh o (1 - tanh(c)^2);  da_i = dc g i (1 - i), da_f = dc c_before f (1 - f), da_g = dc i (1 - g^2),
//   da_o = dh tanh(c) o (1 - o);  dc_before = dc f
struct LstmRowGrad {
  std::int64_t units = 0;
  const float *gates = nullptr, *c_before = nullptr, *c = nullptr;
  const float* dh = nullptr;  // of the output
  float* dstate = nullptr;    // of h from the next step; 0 afterwards
  float* dc = nullptr;        // of c from the next step; then that of c_before
  float* dgates = nullptr;    // da; may be gates
};

struct LstmKernels {
  void (*forward)(const LstmRow&);
  void (*backward)(const LstmRowGrad&);
};

}  // namespace belfry::simd

namespace belfry::avx2 {
extern const simd::LstmKernels kLstm;
}
namespace belfry::avx512 {
extern const simd::LstmKernels kLstm;
}
