// Attention on the vector kernels, f32: threads take whole heads. Everything else is attention_slow.cc's.
#include "belfry/engine/cpu/simd/attention.h"

#include "belfry/engine/cpu/attention_views.h"
#include "belfry/engine/cpu/isa.h"
#include "belfry/engine/cpu/kernels/shares.h"

namespace belfry {

AttentionGeometry attention_geometry(const KernelContext& c, int q, int mask) {
  const std::int64_t heads = c.attributes->integer("heads");
  const Shape &query = c.input(q).shape, &key = c.input(q + 1).shape, &value = c.input(q + 2).shape;
  AttentionGeometry g{.batch = query[0], .heads = query.rank() == 4 ? query[1] : heads, .queries = query[-2]};
  if (query.rank() == 3) g.queries = query[1];
  g.keys = key.rank() == 4 ? key[2] : key[1];
  g.depth = query[-1] / (query.rank() == 4 ? 1 : heads);
  g.value_depth = value[-1] / (query.rank() == 4 ? 1 : heads);
  g.scale = c.attributes->get<double>("scale");
  g.causal = c.attributes->flag("causal");
  g.q = head_strides(query, heads);
  g.k = head_strides(key, heads);
  g.v = head_strides(value, heads);
  Shape y = query;
  y.set(-1, value[-1]);
  g.y = head_strides(y, heads);
  g.empty = g.items() * g.queries * g.keys * g.depth * g.value_depth == 0;
  if (static_cast<int>(c.inputs.size()) > mask) {
    g.mask = broadcast_strides(c.input(mask).shape, {g.batch, g.heads, g.queries, g.keys});
    g.mask_type = c.input(mask).dtype;
    g.mask_input = mask;
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

KernelPtr make_forward(const KernelContext& c, const AttentionGeometry& g) {
  const std::int64_t floats = share_floats(simd::attention_scratch_floats(shape_of(g)));
  const auto run = [g, floats](const Buffers& b, const Step&) {
    for_each_head(g, b, floats, [&](std::int64_t index, float* scratch) {
      const Item item(g, index);
      table().forward({.shape = shape_of(g),
                       .q = item.rows(b.in<float>(0), g.q),
                       .k = item.rows(b.in<float>(1), g.k),
                       .v = item.rows(b.in<float>(2), g.v),
                       .mask = item.mask(g, b),
                       .y = item.rows(b.out<float>(0), g.y),
                       .lse = b.out<float>(1) + index * g.queries,
                       .scratch = scratch});
    });
  };
  return simple_kernel(run, bytes_for(floats, c.threads));
}

KernelPtr make_backward(const KernelContext& c, const AttentionGeometry& g) {
  const std::int64_t floats = share_floats(simd::attention_grad_scratch_floats(shape_of(g)));
  const auto run = [g, floats](const Buffers& b, const Step&) {
    for_each_head(g, b, floats, [&](std::int64_t index, float* scratch) {
      const Item item(g, index);
      table().backward({.shape = shape_of(g),
                        .dy = item.rows(b.in<float>(0), g.y),
                        .q = item.rows(b.in<float>(1), g.q),
                        .k = item.rows(b.in<float>(2), g.k),
                        .v = item.rows(b.in<float>(3), g.v),
                        .y = item.rows(b.in<float>(4), g.y),
                        .mask = item.mask(g, b),
                        .lse = b.in<float>(5) + index * g.queries,
                        .dq = item.rows(b.out<float>(0), g.q),
                        .dk = item.rows(b.out<float>(1), g.k),
                        .dv = item.rows(b.out<float>(2), g.v),
                        .scratch = scratch});
    });
  };
  return simple_kernel(run, bytes_for(floats, c.threads));
}

const KernelRegistration forward_kernel = define_kernel("Attention").make([](const KernelContext& c) {
  const AttentionGeometry g = attention_geometry(c, 0, 3);
  return c.output().dtype == f32 && !g.empty ? make_forward(c, g) : make_slow_attention(c, g);
});

const KernelRegistration backward_kernel = define_kernel("AttentionGrad").make([](const KernelContext& c) {
  const AttentionGeometry g = attention_geometry(c, 1, 6);
  return c.output().dtype == f32 && !g.empty ? make_backward(c, g) : make_slow_attention_grad(c, g);
});

}  // namespace
}  // namespace belfry
