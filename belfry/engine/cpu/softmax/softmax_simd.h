// Softmax over the last axis of [rows][classes], its logarithm, and softmax with cross-entropy in one go. A row is one
// thread's work and summed in a fixed order. Output may be an input's memory.
#pragma once

#include <cstdint>

namespace belfry::simd {

struct SoftmaxArgs {
  const float* input = nullptr;
  float* output = nullptr;
  std::int64_t rows = 0, classes = 0;
};

// loss_r = log sum_j exp(x_rj) - x_r,label;  gradient_rj = factor_r (softmax(x_r)_j - [j == label_r])
struct CrossEntropyArgs {
  const float* logits = nullptr;
  const void* labels = nullptr;  // i32, or i64 if wide_labels
  bool wide_labels = false;
  std::int64_t rows = 0, classes = 0;
  float* loss = nullptr;          // [rows], or null if not wanted
  float* gradient = nullptr;      // [rows][classes], or null if not wanted
  const float* factor = nullptr;  // of row r: factor[r * factor_stride], or 1 if null
  std::int64_t factor_stride = 0;
};

// loss_r = sum_j labels_rj (log sum_k exp(x_rk) - x_rj), a label of 0 counting nothing;
// gradient_rj = factor_r (softmax(x_r)_j sum_k labels_rk - labels_rj)
struct DenseCrossEntropyArgs {
  const float* logits = nullptr;
  const float* labels = nullptr;
  std::int64_t rows = 0, classes = 0;
  float* loss = nullptr;          // [rows], or null if not wanted
  float* gradient = nullptr;      // [rows][classes], or null if not wanted; may be labels' memory, not logits'
  const float* factor = nullptr;  // [rows]; for a gradient
};

// Each works on the rows [begin, end).
struct SoftmaxKernels {
  void (*softmax)(const SoftmaxArgs&, std::int64_t begin, std::int64_t end);
  void (*log_softmax)(const SoftmaxArgs&, std::int64_t begin, std::int64_t end);
  // Returns the first row whose label is not in [0, classes), or -1. Such a row has loss NaN and gradient 0.
  std::int64_t (*cross_entropy)(const CrossEntropyArgs&, std::int64_t begin, std::int64_t end);
  void (*dense_cross_entropy)(const DenseCrossEntropyArgs&, std::int64_t begin, std::int64_t end);
};

}  // namespace belfry::simd

namespace belfry::avx2 {
extern const simd::SoftmaxKernels kSoftmax;
}
namespace belfry::avx512 {
extern const simd::SoftmaxKernels kSoftmax;
}
