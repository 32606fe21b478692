// Attention of the last positions of a sequence to a cache of its keys and values.
#include "belfry/base/check.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/attention.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/generate.h"
#include "belfry/ops/internal/attention_checks.h"
#include "belfry/ops/internal/composite_gradient.h"
#include "belfry/ops/logic.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/sizes.h"

namespace belfry {
namespace {

constexpr int kPosition = 3, kMask = 4;

// [n, capacity]: whether the key is not after the query's own place.
Tensor visible(const Tensor& q, const Tensor& k, const Tensor& position) {
  const Tensor places = reshape(range(0, size_of(q, 1)) + cast(position, i64), {kAny, 1});
  return less_equal(reshape(range(0, size_of(k, 1)), {1, kAny}), places);
}

// A function of {q, k, v} and, if it has a gradient, the mask; any other mask is `mask`.
Composite composite(const Attributes& attributes, const Tensor& position, const Tensor& mask) {
  return [options = attention_options(attributes), position, mask](const Tensors& in) {
    AttentionOptions all = options;
    all.mask = visible(in[0], in[1], position);
    if (mask && mask.dtype() == boolean) all.mask = logical_and(all.mask, mask);
    const Tensor added = in.size() > 3 ? in[3] : Tensor();
    if (added) all.mask = select(all.mask, added, -1e30f);
    return attention_by_parts(in[0], in[1], in[2], all);
  };
}

const OpRegistration cached_attention_def =
    define_op("CachedAttention")
        .input("q")
        .input("k")
        .input("v")
        .input("position")
        .inputs("mask")
        .output("y")
        .shape([](const ShapeContext& c) {
          const AttentionForms f = check_attention_inputs(c, 0);
          BELFRY_CHECK(c.input(0).rank() == 3,
                       "expected q, k and v of rank 3 ([batch, time, heads * depth]), got {}, {} and {}",
                       to_string(c.input(0)), to_string(c.input(1)), to_string(c.input(2)));
          BELFRY_CHECK((c.dtype(kPosition) == i32 || c.dtype(kPosition) == i64) && c.input(kPosition).rank() == 0,
                       "expected a position that is an i32 or i64 scalar, got {} {}", name_of(c.dtype(kPosition)),
                       to_string(c.input(kPosition)));
          BELFRY_CHECK(f.q[2] == kAny || f.k[2] == kAny || f.q[2] <= f.k[2],
                       "expected no more queries than the cache has room for, got {} and {}", f.q[2], f.k[2]);
          check_attention_mask(c, kMask, f);
          Shape y = c.input(0);
          y.set(-1, c.input(2)[-1]);
          return y;
        })
        .gradient([](const GradientContext& c) {
          Tensors out(static_cast<std::size_t>(c.inputs())), inputs{c.input(0), c.input(1), c.input(2)};
          const Tensor mask = c.inputs() > kMask ? c.input(kMask) : Tensor();
          if (mask && is_float(mask.dtype())) inputs.push_back(mask);
          const Tensors grads =
              composite_gradients(composite(c.attributes(), c.input(kPosition), mask), inputs, c.grad());
          for (std::size_t i = 0; i < 3; ++i) out[i] = grads[i];
          if (inputs.size() > 3) out[kMask] = grads[3];
          return out;
        })
        .doc("Attention of a sequence's last positions to a cache of its keys and values.");

}  // namespace

Tensor cached_attention(const Operand& q, const Operand& k, const Operand& v, const Operand& position,
                        const AttentionOptions& options, std::string_view name) {
  std::vector<Operand> inputs{q, k, v, position.tensor(i64)};
  if (options.mask) inputs.emplace_back(options.mask);
  return add_tensor(
      cached_attention_def, inputs,
      {.name = name,
       .attributes = {{"causal", false}, {"scale", attention_scale(q, options)}, {"heads", options.heads}}});
}

}  // namespace belfry
