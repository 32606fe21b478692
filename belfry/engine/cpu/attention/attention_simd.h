// Attention of one head of one example: y = softmax(scale q k' + mask) v and its gradient, one block of queries at a
// time. Scores exist for that block only. All bits are fixed by the shapes.
#pragma once

#include <cstdint>

#include "belfry/engine/cpu/matmul/gemm_simd.h"

namespace belfry::simd {

// Rows of a matrix that lie `row` apart.
template <class T>
struct RowsOf {
  T* data = nullptr;
  std::int64_t row = 0;
};

// Element (i, j) at data[i * row + j * step].
struct AttentionMask {
  const void* data = nullptr;  // null: none
  bool adds = false;           // f32 to add to the scores; else bytes, 0 where a query may not attend
  std::int64_t row = 0, step = 0;
};

struct AttentionShape {
  std::int64_t queries = 0, keys = 0, depth = 0, value_depth = 0;
  float scale = 1;
  bool causal = false;
};

struct AttentionHead {
  AttentionShape shape{};
  RowsOf<const float> q{}, k{}, v{};
  AttentionMask mask{};
  RowsOf<float> y{};
  float* lse = nullptr;      // [queries]: log of the sum of exp(scores), +infinity where there is nothing to attend to
  float* scratch = nullptr;  // attention_scratch_floats()
};

struct AttentionHeadGrad {
  AttentionShape shape{};
  RowsOf<const float> dy{}, q{}, k{}, v{}, y{};
  AttentionMask mask{};
  const float* lse = nullptr;
  RowsOf<float> dq{}, dk{}, dv{};
  float* scratch = nullptr;  // attention_grad_scratch_floats()
};

// The last queries of a sequence, the first of them at `position`: query i attends to the keys 0 .. position + i. The
// shape's number of keys is the capacity.
struct CachedAttentionHead {
  AttentionShape shape{};
  std::int64_t position = 0;
  RowsOf<const float> q{}, k{}, v{};
  AttentionMask mask{};
  RowsOf<float> y{};
  float* scratch = nullptr;  // attention_padded(keys)
};

struct AttentionKernels {
  void (*forward)(const AttentionHead&);
  void (*backward)(const AttentionHeadGrad&);
  void (*cached)(const CachedAttentionHead&);
};

// Queries of a block. With causal attention, keys beyond a block's last query are never read.
constexpr std::int64_t kAttentionBlock = 32;

constexpr std::int64_t attention_padded(std::int64_t n) { return (n + 31) / 32 * 32; }
// q k' of a block, and k and v packed.
constexpr std::int64_t attention_scratch_floats(const AttentionShape& s) {
  return attention_padded(s.keys) * (kAttentionBlock + s.depth + 1) + s.keys * (attention_padded(s.value_depth) + 1) +
         64;
}
// Scores and their gradients of a block; k, k', v' and a block of q and of dy packed; a number per query.
constexpr std::int64_t attention_grad_scratch_floats(const AttentionShape& s) {
  const std::int64_t keys = attention_padded(s.keys), depth = attention_padded(s.depth),
                     value_depth = attention_padded(s.value_depth);
  return keys * (2 * kAttentionBlock + 2 * depth + value_depth) + kAttentionBlock * (depth + value_depth + 1) + 64;
}

}  // namespace belfry::simd

namespace belfry::avx2 {
extern const simd::AttentionKernels kAttention;
}
namespace belfry::avx512 {
extern const simd::AttentionKernels kAttention;
}
