// Convolutions other than conv2d, as layers. Each comes in the three forms that layers.h shows.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "belfry/graph/variable.h"
#include "belfry/nn/layer.h"
#include "belfry/ops/window.h"

#pragma GCC visibility push(default)
namespace belfry {

// Variables: W [height, width, filters / groups, channels in], b [filters]. For sizes see ops/conv_transpose.h.
struct Conv2dTransposeLayerOptions {
  std::int64_t filters = 0;  // has no default
  Extent kernel = 3;
  Extent strides = 1;
  Extent dilations = 1;
  Padding padding = Padding::same;
  std::int64_t groups = 1;
  std::optional<Extent> output_size{};
  bool use_bias = true;
  LayerActivation activation{};
  Initializer kernel_initializer{};
  Initializer bias_initializer{};
  Regularizer kernel_regularizer{};
  Regularizer bias_regularizer{};
  DataFormat data_format = DataFormat::nhwc;
};

// For sequences [batch, length, channels]. Variables: W [length, channels in / groups, filters], b [filters].
struct Conv1dLayerOptions {
  std::int64_t filters = 0;  // has no default
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  Padding padding = Padding::same;
  std::int64_t groups = 1;
  bool use_bias = true;
  LayerActivation activation{};
  Initializer kernel_initializer{};
  Initializer bias_initializer{};
  Regularizer kernel_regularizer{};
  Regularizer bias_regularizer{};
  DataFormat data_format = DataFormat::channels_last;
};

// Each channel separately makes `multiplier` channels. Variables: W [height, width, 1, channels * multiplier], where
// output channel k is made from channel k / multiplier, and b [channels * multiplier].
struct DepthwiseConv2dLayerOptions {
  std::int64_t multiplier = 1;
  Extent kernel = 3;
  Extent strides = 1;
  Extent dilations = 1;
  Padding padding = Padding::same;
  bool use_bias = true;
  LayerActivation activation{};
  Initializer kernel_initializer{};
  Initializer bias_initializer{};
  Regularizer kernel_regularizer{};
  Regularizer bias_regularizer{};
  DataFormat data_format = DataFormat::nhwc;
};

// A depthwise convolution followed directly by one of 1 x 1. Variables: depthwise/W [height, width, 1, channels *
// multiplier], pointwise/W [1, 1, channels * multiplier, filters], b [filters].
struct SeparableConv2dLayerOptions {
  std::int64_t filters = 0;  // has no default
  std::int64_t multiplier = 1;
  Extent kernel = 3;
  Extent strides = 1;
  Extent dilations = 1;
  Padding padding = Padding::same;
  bool use_bias = true;
  LayerActivation activation{};
  Initializer depthwise_initializer{};
  Initializer pointwise_initializer{};
  Initializer bias_initializer{};
  Regularizer depthwise_regularizer{};
  Regularizer pointwise_regularizer{};
  Regularizer bias_regularizer{};
  DataFormat data_format = DataFormat::nhwc;
};

Layer make_layer(std::string_view name, const Conv2dTransposeLayerOptions& options, const Location& where);
Layer make_layer(std::string_view name, const Conv1dLayerOptions& options, const Location& where);
Layer make_layer(std::string_view name, const DepthwiseConv2dLayerOptions& options, const Location& where);
Layer make_layer(std::string_view name, const SeparableConv2dLayerOptions& options, const Location& where);

inline auto conv2d_transpose(const Conv2dTransposeLayerOptions& options) { return LayerMaker(options); }
inline Layer conv2d_transpose(std::string_view name, const Conv2dTransposeLayerOptions& options,
                              const Location& where = Location::current()) {
  return make_layer(name, options, where);
}
inline Tensor conv2d_transpose(const Tensor& x, std::string_view name, const Conv2dTransposeLayerOptions& options,
                               const Location& where = Location::current()) {
  return make_layer(name, options, where)(x);
}

inline auto conv1d(const Conv1dLayerOptions& options) { return LayerMaker(options); }
inline Layer conv1d(std::string_view name, const Conv1dLayerOptions& options,
                    const Location& where = Location::current()) {
  return make_layer(name, options, where);
}
inline Tensor conv1d(const Tensor& x, std::string_view name, const Conv1dLayerOptions& options,
                     const Location& where = Location::current()) {
  return make_layer(name, options, where)(x);
}

inline auto depthwise_conv2d(const DepthwiseConv2dLayerOptions& options) { return LayerMaker(options); }
inline Layer depthwise_conv2d(std::string_view name, const DepthwiseConv2dLayerOptions& options = {},
                              const Location& where = Location::current()) {
  return make_layer(name, options, where);
}
inline Tensor depthwise_conv2d(const Tensor& x, std::string_view name, const DepthwiseConv2dLayerOptions& options = {},
                               const Location& where = Location::current()) {
  return make_layer(name, options, where)(x);
}

inline auto separable_conv2d(const SeparableConv2dLayerOptions& options) { return LayerMaker(options); }
inline Layer separable_conv2d(std::string_view name, const SeparableConv2dLayerOptions& options,
                              const Location& where = Location::current()) {
  return make_layer(name, options, where);
}
inline Tensor separable_conv2d(const Tensor& x, std::string_view name, const SeparableConv2dLayerOptions& options,
                               const Location& where = Location::current()) {
  return make_layer(name, options, where)(x);
}

}  // namespace belfry
#pragma GCC visibility pop
