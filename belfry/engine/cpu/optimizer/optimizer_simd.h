// Optimizer updates in one pass over a variable's memory, f32 and f64. Every rule maps zeros (weight, gradient, slots)
// to zeros, so padding inside blocked layouts stays zero.
#pragma once

#include <cstdint>

namespace belfry::simd {

// With g the scaled gradient plus weight_decay * w, w shrunk by decoupled_decay, and the slots in this order:
//   sgd       w -= lr g
//   momentum  v = mu v + g;  w -= lr v
//   nesterov  v = mu v + g;  w -= lr (g + mu v)
//   adam      m = b1 m + (1 - b1) g;  s = b2 s + (1 - b2) g^2;
//             w -= lr / (1 - b1^t) * m / (sqrt(s) / sqrt(1 - b2^t) + eps)
//   rmsprop   s = b2 s + (1 - b2) g^2;  [centered: a = b2 a + (1 - b2) g;]
//             r = g / (sqrt(s) + eps)  [centered: g / (sqrt(s - a^2) + eps)]
//             w -= lr r  [with momentum: v = mu v + r;  w -= lr v]
//   adagrad   s += g^2;  w -= lr g / (sqrt(s) + eps)
//   adadelta  s = b2 s + (1 - b2) g^2;  d = g sqrt(a + eps) / sqrt(s + eps);  a = b2 a + (1 - b2) d^2;  w -= lr d
//   lars      v = mu v + lr (g + direction_decay w);  w -= v
//   lamb      m, s as adam's;  d = (m / (1 - b1^t)) / (sqrt(s) / sqrt(1 - b2^t) + eps) + direction_decay w;  w -= lr d
// The last two get a rate that already includes the norms of update_norms.h.
enum class UpdateRule {
  sgd,
  momentum,
  nesterov,
  adam,
  rmsprop,
  rmsprop_momentum,
  rmsprop_centered,
  rmsprop_centered_momentum,
  adagrad,
  adadelta,
  lars,
  lamb
};

// The numbers of one step, rounded to the weights' type where they are used.
struct UpdateStep {
  UpdateRule rule = UpdateRule::sgd;
  double learning_rate = 0;     // adam: with its bias correction, lr / (1 - b1^t)
  double gradient_scale = 1;    // g = gradient_scale * gradient
  double weight_decay = 0;      // coupled: g += weight_decay * w
  double decoupled_decay = 0;   // w -= decoupled_decay * w separately from the update (AdamW: lr * decay)
  double direction_decay = 0;   // lars, lamb: joins the direction, but not the gradient
  double momentum = 0;          // mu
  double beta1 = 0, rest1 = 1;  // adam, lamb: b1 and 1 - b1, rounded apart: b1 near 1 leaves few bits in 1 - b1
  double beta2 = 0, rest2 = 1;  // of the means of squares
  double epsilon = 0;
  double first_moment_scale = 1;   // lamb: 1 / (1 - b1^t)
  double second_moment_scale = 1;  // adam, lamb: 1 / sqrt(1 - b2^t)
};

constexpr int kMostSlots = 3;

// Same layout and length each; as many slots as the rule has.
template <class T>
struct UpdateBuffers {
  T* weights = nullptr;
  const T* gradient = nullptr;
  T* slots[kMostSlots] = {};
};

// A second copy of blocked weights. The weights are block x block tiles in the order [outer0][outer1][spatial]; tile
// (i, j, s) is also written, transposed if asked, to tile i * stride0 + j * stride1 + s * stride_spatial of `data`.
// For OIhw16i16o weights and an IOhw16o16i copy: outer0 = O/16, outer1 = I/16, spatial = h * w, stride0 = spatial,
// stride1 = outer0 * spatial, stride_spatial = 1, transpose_tile = true.
struct SecondCopy {
  float* data = nullptr;
  std::int64_t outer0 = 0, outer1 = 0, spatial = 0;
  std::int64_t stride0 = 0, stride1 = 0, stride_spatial = 0;  // in tiles
  int block = 16;                                             // 8 or 16
  bool transpose_tile = false;
};

struct OptimizerKernels {
  void (*update)(const UpdateStep&, const UpdateBuffers<float>&, std::int64_t begin, std::int64_t end);  // elements
  void (*update_f64)(const UpdateStep&, const UpdateBuffers<double>&, std::int64_t begin, std::int64_t end);
  void (*update_tiles)(const UpdateStep&, const UpdateBuffers<float>&, const SecondCopy&, std::int64_t begin,
                       std::int64_t end);
};

}  // namespace belfry::simd

namespace belfry::avx2 {
extern const simd::OptimizerKernels kOptimizer;
}
namespace belfry::avx512 {
extern const simd::OptimizerKernels kOptimizer;
}
