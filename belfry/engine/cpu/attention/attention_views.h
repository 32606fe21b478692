// Where the heads of attention's tensors lie. Internal to engine.
#pragma once

#include "belfry/engine/cpu/kernel/kernel.h"
#include "belfry/engine/cpu/kernel/strided_loop.h"

namespace belfry {

// The rows of one head of one example begin at batch * `batch` + head * `head` and are `row` apart, in elements.
struct HeadStrides {
  std::int64_t batch = 0, head = 0, row = 0, offset = 0;
  std::int64_t at(std::int64_t b, std::int64_t h) const { return offset + b * batch + h * head; }
};

// [batch, heads, time, depth], or [batch, time, heads * depth] for rank 3.
inline HeadStrides head_strides(const Shape& x, std::int64_t heads) {
  if (x.rank() == 4) return {x[1] * x[2] * x[3], x[2] * x[3], x[3]};
  return {x[1] * x[2], x[2] / heads, x[2]};
}

struct AttentionGeometry {
  std::int64_t batch = 0, heads = 0, queries = 0, keys = 0, depth = 0, value_depth = 0;
  double scale = 1;
  bool causal = false, empty = false;
  std::int64_t position = 0;  // of the first query among the keys, if it is causal
  HeadStrides q{}, k{}, v{}, y{};
  Strides mask{};  // along [batch, heads, queries, keys]
  DType mask_type = boolean;
  int mask_input = -1;  // none
  std::int64_t items() const { return batch * heads; }
};

// Which inputs of an op q, k, v and the mask are.
struct AttentionInputs {
  int q = 0, k = 1, v = 2;
  int mask = 3;         // if there are this many inputs
  bool packed = false;  // q, k and v are one input, side by side along the last axis
};
AttentionGeometry attention_geometry(const KernelContext& c, const AttentionInputs& inputs);

// f64, and anything with an empty dimension.
KernelPtr make_slow_attention(const KernelContext& c, const AttentionGeometry& g);
KernelPtr make_slow_attention_grad(const KernelContext& c, const AttentionGeometry& g);
// `position` reads and checks the position of the first query.
KernelPtr make_slow_cached_attention(const KernelContext& c, const AttentionGeometry& g,
                                     std::function<std::int64_t(const Buffers&)> position);

}  // namespace belfry
