// Attention on the vector kernels, f32: threads take whole heads. Everything else is attention_slow.cc's.
#include "belfry/engine/cpu/attention/attention_simd.h"
#include "belfry/engine/cpu/attention/attention_views.h"
#include "belfry/engine/cpu/kernel/isa.h"
#include "belfry/engine/cpu/kernel/runtime_error.h"
#include "belfry/engine/cpu/lanes/shares.h"
#include "belfry/engine/flops.h"

namespace belfry {

AttentionGeometry attention_geometry(const KernelContext& c, const AttentionInputs& inputs) {
  const std::int64_t heads = c.attributes->integer("heads"), parts = inputs.packed ? 3 : 1;
  const Shape &query = c.input(inputs.q).shape, &key = c.input(inputs.k).shape, &value = c.input(inputs.v).shape;
  const bool apart = query.rank() == 4;
  AttentionGeometry g{.batch = query[0],
                      .heads = apart ? query[1] : heads,
                      .queries = query[apart ? 2 : 1],
                      .keys = key[apart ? 2 : 1],
                      .depth = query[-1] / (apart ? 1 : heads * parts),
                      .value_depth = value[-1] / (apart ? 1 : heads * parts),
                      .scale = c.attributes->get<double>("scale"),
                      .causal = c.attributes->flag("causal"),
                      .q = head_strides(query, heads * parts),
                      .k = head_strides(key, heads * parts),
                      .v = head_strides(value, heads * parts)};
  if (inputs.packed) {
    g.k.offset = heads * g.depth;
    g.v.offset = 2 * heads * g.depth;
  }
  Shape y = query;
  y.set(-1, value[-1] / parts);
  g.y = head_strides(y, heads);
  g.empty = g.items() * g.queries * g.keys * g.depth * g.value_depth == 0;
  if (static_cast<int>(c.inputs.size()) > inputs.mask) {
    g.mask = broadcast_strides(c.input(inputs.mask).shape, {g.batch, g.heads, g.queries, g.keys});
    g.mask_type = c.input(inputs.mask).dtype;
    g.mask_input = inputs.mask;
  }
  return g;
}

namespace {

const simd::AttentionKernels& table() { return by_isa(cpu_isa(), avx2::kAttention, avx512::kAttention); }

simd::AttentionShape shape_of(const AttentionGeometry& g) {
  return {g.queries, g.keys, g.depth, g.value_depth, static_cast<float>(g.scale), g.causal};
}

// One head of one example.
struct Item {
  std::int64_t batch, head;
  Item(const AttentionGeometry& g, std::int64_t item) : batch(item / g.heads), head(item % g.heads) {}
  template <class T>
  simd::RowsOf<T> rows(T* tensor, const HeadStrides& s) const {
    return {tensor + s.at(batch, head), s.row};
  }
  simd::AttentionMask mask(const AttentionGeometry& g, const Buffers& b) const {
    if (g.mask_input < 0) return {};
    const bool adds = g.mask_type != boolean;
    const auto* data = static_cast<const char*>(b.inputs[static_cast<std::size_t>(g.mask_input)]);
    const std::int64_t at = batch * g.mask[0] + head * g.mask[1];
    return {data + at * (adds ? 4 : 1), adds, g.mask[2], g.mask[3]};
  }
};

// Calls body(item, scratch) for every head of every example.
template <class Body>
void for_each_head(const AttentionGeometry& g, const Buffers& b, std::int64_t scratch_floats, Body body) {
  constexpr std::int64_t kGrain = 20'000;  // multiplications that are worth waking a thread
  const std::int64_t grain = kGrain / (g.queries * g.keys * (g.depth + g.value_depth));
  for_each_share(g.items(), grain, b.scratch, static_cast<std::size_t>(scratch_floats) * sizeof(float),
                 [&](std::int64_t begin, std::int64_t end, void* scratch) {
                   for (std::int64_t item = begin; item < end; ++item) body(item, static_cast<float*>(scratch));
                 });
}

// Whole cache lines, so that every thread's share begins at one.
std::int64_t share_floats(std::int64_t floats) { return (floats + 15) / 16 * 16; }
std::size_t bytes_for(std::int64_t floats, int threads) {
  return static_cast<std::size_t>(floats) * sizeof(float) * static_cast<std::size_t>(threads);
}

KernelPtr make_forward(const KernelContext& c, const AttentionInputs& in) {
  const AttentionGeometry g = attention_geometry(c, in);
  if (c.output().dtype != f32 || g.empty) return make_slow_attention(c, g);
  const std::int64_t floats = share_floats(simd::attention_scratch_floats(shape_of(g)));
  const auto run = [g, in, floats](const Buffers& b, const Step&) {
    for_each_head(g, b, floats, [&](std::int64_t index, float* scratch) {
      const Item item(g, index);
      table().forward({.shape = shape_of(g),
                       .q = item.rows(b.in<float>(in.q), g.q),
                       .k = item.rows(b.in<float>(in.k), g.k),
                       .v = item.rows(b.in<float>(in.v), g.v),
                       .mask = item.mask(g, b),
                       .y = item.rows(b.out<float>(0), g.y),
                       .lse = b.out<float>(1) + index * g.queries,
                       .scratch = scratch});
    });
  };
  return simple_kernel(run, bytes_for(floats, c.threads));
}

// y and lse are the inputs after v.
KernelPtr make_backward(const KernelContext& c, const AttentionInputs& in) {
  const AttentionGeometry g = attention_geometry(c, in);
  if (c.output().dtype != f32 || g.empty) return make_slow_attention_grad(c, g);
  const std::int64_t floats = share_floats(simd::attention_grad_scratch_floats(shape_of(g)));
  const auto run = [g, in, floats](const Buffers& b, const Step&) {
    const int second = in.packed ? 0 : 1, third = in.packed ? 0 : 2;  // outputs of dk and dv
    for_each_head(g, b, floats, [&](std::int64_t index, float* scratch) {
      const Item item(g, index);
      table().backward({.shape = shape_of(g),
                        .dy = item.rows(b.in<float>(0), g.y),
                        .q = item.rows(b.in<float>(in.q), g.q),
                        .k = item.rows(b.in<float>(in.k), g.k),
                        .v = item.rows(b.in<float>(in.v), g.v),
                        .y = item.rows(b.in<float>(in.v + 1), g.y),
                        .mask = item.mask(g, b),
                        .lse = b.in<float>(in.v + 2) + index * g.queries,
                        .dq = item.rows(b.out<float>(0), g.q),
                        .dk = item.rows(b.out<float>(second), g.k),
                        .dv = item.rows(b.out<float>(third), g.v),
                        .scratch = scratch});
    });
  };
  return simple_kernel(run, bytes_for(floats, c.threads));
}

// The number of keys in this run; throws if there is no room for those of the queries.
std::int64_t position_of(const AttentionGeometry& g, const Buffers& b, DType dtype, const Node* origin) {
  const std::int64_t at = dtype == i32 ? *b.in<std::int32_t>(3) : *b.in<std::int64_t>(3);
  if (at < 0 || at > g.keys - g.queries)
    fail_numeric(origin, fmt::format("expected a position in [0, {}], got {}: the cache has room for {} positions, and "
                                     "the step adds {}",
                                     g.keys - g.queries, at, g.keys, g.queries));
  return at;
}

KernelPtr make_cached(const KernelContext& c) {
  const AttentionGeometry g = attention_geometry(c, {.mask = 4});
  const auto position = [g, dtype = c.input(3).dtype, origin = c.origin](const Buffers& b) {
    return position_of(g, b, dtype, origin);
  };
  if (c.output().dtype != f32 || g.empty) return make_slow_cached_attention(c, g, position);
  const std::int64_t floats = share_floats(simd::attention_padded(g.keys));
  const auto run = [g, floats, position](const Buffers& b, const Step&) {
    const std::int64_t at = position(b);
    AttentionGeometry seen = g;
    seen.keys = at + g.queries;
    for_each_head(seen, b, floats, [&](std::int64_t index, float* scratch) {
      const Item item(g, index);
      table().cached({.shape = shape_of(g),
                      .position = at,
                      .q = item.rows(b.in<float>(0), g.q),
                      .k = item.rows(b.in<float>(1), g.k),
                      .v = item.rows(b.in<float>(2), g.v),
                      .mask = item.mask(g, b),
                      .y = item.rows(b.out<float>(0), g.y),
                      .scratch = scratch});
    });
  };
  return simple_kernel(run, bytes_for(floats, c.threads));
}

const KernelRegistration cached_kernel = define_kernel("CachedAttention").keeps_f32().make(make_cached);
const KernelRegistration forward_kernel =
    define_kernel("Attention").keeps_f32().flops(attention_flops).make([](const KernelContext& c) {
      return make_forward(c, {});
    });
const KernelRegistration backward_kernel = define_kernel("AttentionGrad").keeps_f32().make([](const KernelContext& c) {
  return make_backward(c, {.q = 1, .k = 2, .v = 3, .mask = 6});
});
// Made by the fuse pass if q, k and v come from one projection.
const KernelRegistration packed_kernel = define_kernel("PackedAttention").keeps_f32().make([](const KernelContext& c) {
  return make_forward(c, {.q = 0, .k = 0, .v = 0, .mask = 1, .packed = true});
});
const KernelRegistration packed_grad_kernel =
    define_kernel("PackedAttentionGrad").keeps_f32().make([](const KernelContext& c) {
      return make_backward(c, {.q = 1, .k = 1, .v = 1, .mask = 4, .packed = true});
    });

}  // namespace
}  // namespace belfry
