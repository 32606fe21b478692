// The gates of a GRU for one row of the batch: the rest of a step after its products.
#pragma once

#include <cstdint>

namespace belfry::simd {

// With a = the sums from x that gates hold at first and s = those from h_before, both in the order r, z, n:
//   r = sigmoid(a_r + s_r), z = sigmoid(a_z + s_z), n = tanh(a_n + r s_n);  h = n + z (h_before - n)
struct GruRow {
  std::int64_t units = 0;
  float* gates = nullptr;       // [3 units]: a, then r, z, n
  const float* sums = nullptr;  // [3 units]: s
  const float* before = nullptr;
  float* candidate = nullptr;  // s_n, which the gradient needs
  float* h = nullptr;
  float* next = nullptr;  // h once more: where the next step begins
};

// The gradient of that: with dh = what comes from the output and from the next step,
//   da_n = dh (1 - z) (1 - n^2), da_z = dh (h_before - n) z (1 - z), da_r = da_n s_n r (1 - r);
//   ds = da, but ds_n = da_n r;  dh_before = dh z + ds's part through the weights
struct GruRowGrad {
  std::int64_t units = 0;
  const float *gates = nullptr, *candidate = nullptr, *before = nullptr;
  const float* dh = nullptr;  // of the output
  float* dstate = nullptr;    // of h from the next step; then dh z
  float* dgates = nullptr;    // da; may be gates
  float* dsums = nullptr;     // ds
};

struct GruKernels {
  void (*forward)(const GruRow&);
  void (*backward)(const GruRowGrad&);
};

}  // namespace belfry::simd

namespace belfry::avx2 {
extern const simd::GruKernels kGru;
}
namespace belfry::avx512 {
extern const simd::GruKernels kGru;
}
