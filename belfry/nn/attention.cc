#include "belfry/nn/attention.h"

#include "belfry/base/check.h"
#include "belfry/nn/internal/layer_checks.h"
#include "belfry/nn/layers.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/attention.h"
#include "belfry/ops/random.h"
#include "belfry/ops/update_slice.h"

namespace belfry {
namespace {

DenseOptions projection(const MultiHeadAttentionOptions& o, std::int64_t units) {
  return {.units = units,
          .use_bias = o.use_bias,
          .kernel_initializer = o.kernel_initializer,
          .bias_initializer = o.bias_initializer,
          .kernel_regularizer = o.kernel_regularizer,
          .bias_regularizer = o.bias_regularizer};
}

void check_rate(const char* kind, const char* option, double rate) {
  BELFRY_CHECK(rate >= 0 && rate < 1, "{} expected .{} in [0, 1), the fraction that is dropped, got {} {}",
               layer_title(kind), option, rate, layer_line());
}

// Queries, keys and values: computed in one product if all come from x.
Tensors projections(const MultiHeadAttentionOptions& o, const Tensor& x, std::int64_t units) {
  if (!o.context) return split(x | dense("qkv", projection(o, 3 * units)), 3, -1);
  check_rank("multi_head_attention", o.context, 3, "a context [batch, time, features]");
  Tensors out{x | dense("q", projection(o, units))};
  for (const Tensor& t : split(o.context | dense("kv", projection(o, 2 * units)), 2, -1)) out.push_back(t);
  return out;
}

void check_cache(const MultiHeadAttentionOptions& o, std::int64_t units, bool drops) {
  constexpr const char* kKind = "multi_head_attention";
  const std::string title = layer_title(kKind), line = layer_line();
  BELFRY_CHECK((o.cache != nullptr) == static_cast<bool>(o.position),
               "{} expected .cache and .position together, got only {} {}", title,
               o.cache != nullptr ? ".cache" : ".position", line);
  if (o.cache == nullptr) return;
  BELFRY_CHECK(o.causal && !o.context,
               "{} expected .causal and no .context with a .cache, got {} {}. A cache cannot hold what later positions "
               "may change, and what is computed from a context does not change.",
               title, o.context ? "a context" : "attention to all positions", line);
  BELFRY_CHECK(!drops, "{} expected no .attention_dropout with a .cache in training, got {} {}", title,
               o.attention_dropout, line);
  for (const Tensor& t : {o.cache->keys, o.cache->values})
    BELFRY_CHECK(t && t.rank() == 3 && t.shape()[2] == units,
                 "{} expected a cache of keys and values [batch, capacity, {}], got {} {}", title, units,
                 t ? to_string(t) : "an empty one", line);
}

// The keys or values with those of the further positions added.
Tensor with_more(const Tensor& cache, const Variable& kept, const Tensor& more, const Tensor& position) {
  const Sizes begin{0, position, 0};
  const UpdateSliceOptions full{
      .remedy = "The cache has no room for the position: give it a larger .capacity, or start again at position 0"};
  return kept ? assign_slice(kept, more, begin, "", full) : update_slice(cache, more, begin, "", full);
}

Tensor apply(const MultiHeadAttentionOptions& o, const Tensor& x) {
  constexpr const char* kKind = "multi_head_attention";
  check_rank(kKind, x, 3, "a sequence [batch, time, features]");
  const std::int64_t features = known_size(kKind, x, 2, "features"), units = o.units == 0 ? features : o.units;
  BELFRY_CHECK(o.heads > 0 && units > 0 && units % o.heads == 0,
               "{} expected units that divide into .heads, got {} units and {} heads {}", layer_title(kKind), units,
               o.heads, layer_line());
  check_rate(kKind, "attention_dropout", o.attention_dropout);
  const bool drops = o.attention_dropout > 0 && layer_trains(kKind);
  check_cache(o, units, drops);
  const Tensors p = projections(o, x, units);
  const AttentionOptions how{.causal = o.causal, .mask = o.mask, .heads = o.heads};
  if (o.cache != nullptr) {
    KeyValueCache& cache = *o.cache;
    cache.keys = with_more(cache.keys, cache.kept_keys, p[1], o.position);
    cache.values = with_more(cache.values, cache.kept_values, p[2], o.position);
    return cached_attention(p[0], cache.keys, cache.values, o.position, how) | dense("proj", projection(o, features));
  }
  const Tensor y = drops ? attention_by_parts(p[0], p[1], p[2], how,
                                              [&](const Tensor& t) { return dropout(t, o.attention_dropout); })
                         : attention(p[0], p[1], p[2], how);
  return y | dense("proj", projection(o, features));
}

Tensor apply(const TransformerBlockOptions& o, const Tensor& x) {
  constexpr const char* kKind = "transformer_block";
  check_rank(kKind, x, 3, "a sequence [batch, time, features]");
  check_rate(kKind, "dropout", o.dropout);
  const std::int64_t features = known_size(kKind, x, 2, "features");
  const auto dropped = [&](const Tensor& t, const char* name) {
    return o.dropout > 0 ? t | dropout(name, o.dropout) : t;
  };
  const LayerNormLayerOptions norm{.epsilon = o.epsilon,
                                   .beta_initializer = o.beta_initializer,
                                   .gamma_initializer = o.gamma_initializer,
                                   .beta_regularizer = o.beta_regularizer,
                                   .gamma_regularizer = o.gamma_regularizer};
  DenseOptions fc{.units = o.hidden == 0 ? 4 * features : o.hidden,
                  .activation = o.activation,
                  .kernel_initializer = o.kernel_initializer,
                  .bias_initializer = o.bias_initializer,
                  .kernel_regularizer = o.kernel_regularizer,
                  .bias_regularizer = o.bias_regularizer};
  const Tensor attended = x | layer_norm("ln1", norm) |
                          multi_head_attention("attention", {.heads = o.heads,
                                                             .causal = o.causal,
                                                             .mask = o.mask,
                                                             .attention_dropout = o.attention_dropout,
                                                             .cache = o.cache,
                                                             .position = o.position,
                                                             .kernel_initializer = o.kernel_initializer,
                                                             .bias_initializer = o.bias_initializer,
                                                             .kernel_regularizer = o.kernel_regularizer,
                                                             .bias_regularizer = o.bias_regularizer});
  const Tensor middle = x + dropped(attended, "drop1");
  const Tensor hidden = middle | layer_norm("ln2", norm) | dense("fc1", fc);
  fc.units = features;
  fc.activation = {};
  return add(middle, dropped(hidden | dense("fc2", fc), "drop2"), "output");
}

}  // namespace

Layer make_layer(std::string_view name, const MultiHeadAttentionOptions& options, const Location& where) {
  return Layer(name, [options](const Tensor& x) { return apply(options, x); }, where);
}
Layer make_layer(std::string_view name, const TransformerBlockOptions& options, const Location& where) {
  return Layer(name, [options](const Tensor& x) { return apply(options, x); }, where);
}

}  // namespace belfry
