// Layers of sequences, [batch, time, features]. Each comes in the three forms of layers.h.
#pragma once

#include <cstdint>
#include <string_view>

#include "belfry/graph/variable.h"
#include "belfry/nn/attention_cache.h"
#include "belfry/nn/layer.h"
#include "belfry/ops/gelu.h"

#pragma GCC visibility push(default)
namespace belfry {

// The same projection of every vector along the last axis: [..., features] -> [..., units]. (fully_connected() treats
// an example as one vector.) Variables: W [features, units], b [units].
struct DenseOptions {
  std::int64_t units = 0;  // has no default
  bool use_bias = true;
  LayerActivation activation{};
  Initializer kernel_initializer{};
  Initializer bias_initializer{};
  Regularizer kernel_regularizer{};
  Regularizer bias_regularizer{};
};

// Normalises every vector along the last axis by its own mean and variance. Variables: gamma, beta [features].
struct LayerNormLayerOptions {
  double epsilon = 1e-5;
  bool center = true;               // has beta
  bool scale = true;                // has gamma
  Initializer beta_initializer{};   // zeros
  Initializer gamma_initializer{};  // ones
  Regularizer beta_regularizer{};
  Regularizer gamma_regularizer{};
};

// Every position attends to all of `context` (or of the sequence itself) with several heads of `units` / heads each.
// Variables: qkv/W [features, 3 * units], qkv/b, the projections to queries, keys and values side by side, each with
// the heads in order; proj/W [units, features], proj/b. With a context: q/W, q/b and kv/W, kv/b instead of qkv.
struct MultiHeadAttentionOptions {
  std::int64_t heads = 1;
  std::int64_t units = 0;  // of all heads together; 0: as many as features
  bool causal = false;     // a position attends to itself and those before it
  Tensor context{};        // [batch, time, features]; the sequence itself if empty
  // bool, or added to the scores: broadcasts to [batch, heads, time, time of the context], or the cache's capacity.
  Tensor mask{};
  double attention_dropout = 0;    // of the probabilities, in training
  KeyValueCache* cache = nullptr;  // of the positions before x; those of x are added: see attention_cache.h
  Tensor position{};               // that of x's first vector, an i32 or i64 scalar; needed with .cache
  bool use_bias = true;
  Initializer kernel_initializer{};
  Initializer bias_initializer{};
  Regularizer kernel_regularizer{};
  Regularizer bias_regularizer{};
};

// x + attention(norm(x)), then x + fc2(activation(fc1(norm(x)))): a transformer block with normalisation first. Inside:
// ln1, attention, ln2, fc1, fc2.
struct TransformerBlockOptions {
  std::int64_t heads = 1;
  std::int64_t hidden = 0;  // units of fc1; 0: four times the features
  bool causal = false;
  Tensor mask{};
  double dropout = 0;              // of both branches, in training
  double attention_dropout = 0;    // of the probabilities, in training
  KeyValueCache* cache = nullptr;  // of the attention layer: see MultiHeadAttentionOptions
  Tensor position{};
  LayerActivation activation = gelu;
  double epsilon = 1e-5;
  Initializer kernel_initializer{};
  Initializer bias_initializer{};
  Regularizer kernel_regularizer{};
  Regularizer bias_regularizer{};
  Initializer beta_initializer{};   // of both norms: zeros
  Initializer gamma_initializer{};  // ones
  Regularizer beta_regularizer{};
  Regularizer gamma_regularizer{};
};

Layer make_layer(std::string_view name, const DenseOptions& options, const Location& where);
Layer make_layer(std::string_view name, const LayerNormLayerOptions& options, const Location& where);
Layer make_layer(std::string_view name, const MultiHeadAttentionOptions& options, const Location& where);
Layer make_layer(std::string_view name, const TransformerBlockOptions& options, const Location& where);

inline LayerMaker<DenseOptions> dense(const DenseOptions& options) { return LayerMaker(options); }
inline Layer dense(std::string_view name, const DenseOptions& options, const Location& where = Location::current()) {
  return make_layer(name, options, where);
}
inline Tensor dense(const Tensor& x, std::string_view name, const DenseOptions& options,
                    const Location& where = Location::current()) {
  return make_layer(name, options, where)(x);
}

inline LayerMaker<LayerNormLayerOptions> layer_norm(const LayerNormLayerOptions& options) {
  return LayerMaker(options);
}
inline Layer layer_norm(std::string_view name, const LayerNormLayerOptions& options = {},
                        const Location& where = Location::current()) {
  return make_layer(name, options, where);
}
inline Tensor layer_norm(const Tensor& x, std::string_view name, const LayerNormLayerOptions& options = {},
                         const Location& where = Location::current()) {
  return make_layer(name, options, where)(x);
}

inline LayerMaker<MultiHeadAttentionOptions> multi_head_attention(const MultiHeadAttentionOptions& options) {
  return LayerMaker(options);
}
inline Layer multi_head_attention(std::string_view name, const MultiHeadAttentionOptions& options,
                                  const Location& where = Location::current()) {
  return make_layer(name, options, where);
}
inline Tensor multi_head_attention(const Tensor& x, std::string_view name, const MultiHeadAttentionOptions& options,
                                   const Location& where = Location::current()) {
  return make_layer(name, options, where)(x);
}

inline LayerMaker<TransformerBlockOptions> transformer_block(const TransformerBlockOptions& options) {
  return LayerMaker(options);
}
inline Layer transformer_block(std::string_view name, const TransformerBlockOptions& options,
                               const Location& where = Location::current()) {
  return make_layer(name, options, where);
}
inline Tensor transformer_block(const Tensor& x, std::string_view name, const TransformerBlockOptions& options,
                                const Location& where = Location::current()) {
  return make_layer(name, options, where)(x);
}

}  // namespace belfry
#pragma GCC visibility pop
