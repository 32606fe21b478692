// Layers that normalise within one example: the same in training and inference, whatever the batch.
#pragma once

#include <string_view>

#include "belfry/graph/variable.h"
#include "belfry/nn/layer.h"
#include "belfry/ops/window.h"

#pragma GCC visibility push(default)
namespace belfry {

// Variables: gamma, beta (if asked for), [channels].
struct GroupNormLayerOptions {
  std::int64_t groups = 32;  // divides the channels
  double epsilon = 1e-5;
  bool center = true;  // has beta
  bool scale = true;   // has gamma
  LayerActivation activation{};
  Initializer beta_initializer{};   // zeros
  Initializer gamma_initializer{};  // ones
  Regularizer beta_regularizer{};
  Regularizer gamma_regularizer{};
  DataFormat data_format = DataFormat::nhwc;
};
struct InstanceNormLayerOptions {
  double epsilon = 1e-5;
  bool center = true;
  bool scale = true;
  LayerActivation activation{};
  Initializer beta_initializer{};
  Initializer gamma_initializer{};
  Regularizer beta_regularizer{};
  Regularizer gamma_regularizer{};
  DataFormat data_format = DataFormat::nhwc;
};

Layer make_layer(std::string_view name, const GroupNormLayerOptions& options, const Location& where);
Layer make_layer(std::string_view name, const InstanceNormLayerOptions& options, const Location& where);

inline LayerMaker<GroupNormLayerOptions> group_norm(const GroupNormLayerOptions& options) {
  return LayerMaker(options);
}
inline Layer group_norm(std::string_view name, const GroupNormLayerOptions& options = {},
                        const Location& where = Location::current()) {
  return make_layer(name, options, where);
}
inline Tensor group_norm(const Tensor& x, std::string_view name, const GroupNormLayerOptions& options = {},
                         const Location& where = Location::current()) {
  return make_layer(name, options, where)(x);
}

inline LayerMaker<InstanceNormLayerOptions> instance_norm(const InstanceNormLayerOptions& options) {
  return LayerMaker(options);
}
inline Layer instance_norm(std::string_view name, const InstanceNormLayerOptions& options = {},
                           const Location& where = Location::current()) {
  return make_layer(name, options, where);
}
inline Tensor instance_norm(const Tensor& x, std::string_view name, const InstanceNormLayerOptions& options = {},
                            const Location& where = Location::current()) {
  return make_layer(name, options, where)(x);
}

}  // namespace belfry
#pragma GCC visibility pop
