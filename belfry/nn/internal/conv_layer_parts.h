// What the layers around a convolution have in common. Internal to belfry/nn; called inside a layer's scope.
#pragma once

#include <cstdint>
#include <string_view>

#include "belfry/graph/variable.h"
#include "belfry/nn/layer.h"
#include "belfry/ops/window.h"

namespace belfry {

// The number of channels of x. Throws unless that is known and x is a batch of images.
std::int64_t image_channels(const char* kind, const Tensor& x, DataFormat format);
void check_filters(const char* kind, std::int64_t filters);
void check_kernel(const char* kind, Extent kernel);
// Checks that `groups` divides both.
void check_groups(const char* kind, std::int64_t groups, std::int64_t channels, std::int64_t filters);

// What comes after the convolution: b, then the activation. The last op carries the layer's name.
struct ConvEnd {
  bool use_bias = true;
  const LayerActivation& activation;
  const Initializer& bias_initializer;
  const Regularizer& bias_regularizer;
  DataFormat data_format = DataFormat::nhwc;

  // The name of the convolution op.
  std::string_view conv_name() const { return use_bias || activation ? "" : "output"; }
  Tensor apply(Tensor y, std::int64_t filters) const;
};

}  // namespace belfry
