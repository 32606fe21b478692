// The layers. Each comes in three forms:
//
//   const auto conv = conv2d({.filters = 32, .kernel = 3});   x | conv("conv0")     options first, names later
//   x | conv2d("conv0", {.filters = 32, .kernel = 3})                               one layer
//   conv2d(x, "conv0", {.filters = 32, .kernel = 3})                                without a pipe
//
// An initialiser that is not given is that of get_variable() (the scope's, else Glorot-uniform) for weights, zeros for
// biases. Whether a layer trains comes from the tower that is being built.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "belfry/graph/variable.h"
#include "belfry/nn/layer.h"
#include "belfry/ops/pool.h"
#include "belfry/ops/window.h"

#pragma GCC visibility push(default)
namespace belfry {

// Variables: W [height, width, channels in / groups, filters], b [filters].
struct Conv2dLayerOptions {
  std::int64_t filters = 0;  // has no default
  Extent kernel = 3;
  Extent strides = 1;
  Extent dilations = 1;
  Padding padding = Padding::same;
  std::int64_t groups = 1;
  bool use_bias = true;
  LayerActivation activation{};
  Initializer kernel_initializer{};
  Initializer bias_initializer{};
  Regularizer kernel_regularizer{};
  Regularizer bias_regularizer{};
  DataFormat data_format = DataFormat::nhwc;
};

// Variables: W [features in, units], b [units]. Inputs of rank above 2 are flattened first.
struct FullyConnectedOptions {
  std::int64_t units = 0;  // has no default
  bool use_bias = true;
  LayerActivation activation{};
  Initializer kernel_initializer{};
  Initializer bias_initializer{};
  Regularizer kernel_regularizer{};
  Regularizer bias_regularizer{};
};

// When the moving averages of batch norm's statistics change, in the main training tower (never in others):
enum class EmaUpdate : std::uint8_t {
  collection,  // by ops in UPDATE_OPS, which the optimizer's operation (and a trainer) runs in the same step
  internal,    // whenever the layer's output is computed
  skip,        // not at all
};

// Variables: gamma, beta (if asked for), and, not trained, mean/EMA and variance/EMA; all [channels]. Training uses the
// statistics of the batch and moves the averages: ema = ema * momentum + batch * (1 - momentum), where the variance is
// the unbiased one (n / (n - 1), n values per channel), as in PyTorch and TensorFlow. Inference uses the averages.
//
// With sync_statistics the batch is that of all towers that train together: N towers compute the same as one with the
// batches of all, whatever their sizes. The towers then have to wait for each other once in each direction.
struct BatchNormLayerOptions {
  double momentum = 0.9;
  double epsilon = 1e-5;
  bool center = true;              // has beta
  bool scale = true;               // has gamma
  std::optional<bool> training{};  // default: the tower's
  EmaUpdate ema_update = EmaUpdate::collection;
  bool sync_statistics = false;
  LayerActivation activation{};
  Initializer beta_initializer{};   // zeros
  Initializer gamma_initializer{};  // ones
  Regularizer beta_regularizer{};
  Regularizer gamma_regularizer{};
  DataFormat data_format = DataFormat::nhwc;
};

Layer make_layer(std::string_view name, const Conv2dLayerOptions& options, const Location& where);
Layer make_layer(std::string_view name, const FullyConnectedOptions& options, const Location& where);
Layer make_layer(std::string_view name, const BatchNormLayerOptions& options, const Location& where);

inline LayerMaker<Conv2dLayerOptions> conv2d(const Conv2dLayerOptions& options) { return LayerMaker(options); }
inline Layer conv2d(std::string_view name, const Conv2dLayerOptions& options,
                    const Location& where = Location::current()) {
  return make_layer(name, options, where);
}
inline Tensor conv2d(const Tensor& x, std::string_view name, const Conv2dLayerOptions& options,
                     const Location& where = Location::current()) {
  return make_layer(name, options, where)(x);
}

inline LayerMaker<FullyConnectedOptions> fully_connected(const FullyConnectedOptions& options) {
  return LayerMaker(options);
}
inline Layer fully_connected(std::string_view name, const FullyConnectedOptions& options,
                             const Location& where = Location::current()) {
  return make_layer(name, options, where);
}
inline Tensor fully_connected(const Tensor& x, std::string_view name, const FullyConnectedOptions& options,
                              const Location& where = Location::current()) {
  return make_layer(name, options, where)(x);
}

inline LayerMaker<BatchNormLayerOptions> batch_norm(const BatchNormLayerOptions& options) {
  return LayerMaker(options);
}
inline Layer batch_norm(std::string_view name, const BatchNormLayerOptions& options = {},
                        const Location& where = Location::current()) {
  return make_layer(name, options, where);
}
inline Tensor batch_norm(const Tensor& x, std::string_view name, const BatchNormLayerOptions& options = {},
                         const Location& where = Location::current()) {
  return make_layer(name, options, where)(x);
}

// Pooling; strides are as large as the window unless given:
//   max_pool("pool0", 2), max_pool("pool0", {.window = 3, .strides = 2, .padding = Padding::same})
Layer max_pool(std::string_view name, const Pool2dOptions& options, const Location& where = Location::current());
Layer max_pool(std::string_view name, Extent window, const Location& where = Location::current());
Layer avg_pool(std::string_view name, const Pool2dOptions& options, const Location& where = Location::current());
Layer avg_pool(std::string_view name, Extent window, const Location& where = Location::current());
// The mean of each channel: [batch, channels].
Layer global_avg_pool(std::string_view name, DataFormat data_format = DataFormat::nhwc,
                      const Location& where = Location::current());

// In training each element becomes 0 with probability `rate`, otherwise x / (1 - rate). In inference x is unchanged.
Layer dropout(std::string_view name, double rate, const Location& where = Location::current());

// [batch, ...] -> [batch, product of the rest].
Layer flatten(std::string_view name = "flatten", const Location& where = Location::current());

}  // namespace belfry
#pragma GCC visibility pop
