// Optimizer updates in one pass over a variable's memory. Every rule maps zeros (weight, gradient, slots) to zeros, so
// padding inside blocked layouts stays zero.
#pragma once

#include <cstdint>

namespace belfry::simd {

// With g the scaled gradient plus weight_decay * w:
//   sgd       w -= lr g
//   momentum  v = mu v + g;  w -= lr v
//   nesterov  v = mu v + g;  w -= lr (g + mu v)
//   adam      m = b1 m + (1 - b1) g;  s = b2 s + (1 - b2) g^2;
//             w -= lr / (1 - b1^t) * m / (sqrt(s) / sqrt(1 - b2^t) + eps)
enum class UpdateRule { sgd, momentum, nesterov, adam };

// The numbers of one step.
struct UpdateStep {
  UpdateRule rule = UpdateRule::sgd;
  float learning_rate = 0;     // adam: with its bias correction, lr / (1 - b1^t)
  float gradient_scale = 1;    // g = gradient_scale * gradient
  float weight_decay = 0;      // coupled: g += weight_decay * w
  float decoupled_decay = 0;   // w -= decoupled_decay * w beside the update (AdamW: lr * decay)
  float momentum = 0;          // mu
  float beta1 = 0, rest1 = 1;  // adam: b1 and 1 - b1, rounded apart because b1 near 1 leaves few bits in 1 - b1
  float beta2 = 0, rest2 = 1;
  float epsilon = 0;
  float second_moment_scale = 1;  // adam: 1 / sqrt(1 - b2^t)
};

// Same layout and length each. slot0: momentum's v or adam's m; slot1: adam's s; null where the rule has none.
struct UpdateBuffers {
  float* weights = nullptr;
  const float* gradient = nullptr;
  float* slot0 = nullptr;
  float* slot1 = nullptr;
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

// A second copy [columns][rows] of weights [rows][columns].
struct TransposedCopy {
  float* data = nullptr;
  std::int64_t rows = 0, columns = 0;
};

// The work of a transposed update is cut into blocks of this many weights, numbered row of blocks by row of blocks.
constexpr std::int64_t kTransposeRows = 32, kTransposeColumns = 512;

struct OptimizerKernels {
  void (*update)(const UpdateStep&, const UpdateBuffers&, std::int64_t begin, std::int64_t end);  // elements
  void (*update_tiles)(const UpdateStep&, const UpdateBuffers&, const SecondCopy&, std::int64_t begin,
                       std::int64_t end);
  void (*update_transposed)(const UpdateStep&, const UpdateBuffers&, const TransposedCopy&, std::int64_t begin,
                            std::int64_t end);
};

}  // namespace belfry::simd

namespace belfry::avx2 {
extern const simd::OptimizerKernels kOptimizer;
}
namespace belfry::avx512 {
extern const simd::OptimizerKernels kOptimizer;
}
