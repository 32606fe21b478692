// What residual networks are built from, with their parameters numbered along the way.
#pragma once

#include <string>

#include "benchmarks/suite.h"

namespace belfry::bench {

// A convolution without bias, padded by half its kernel, and batch norm.
struct ConvBn {
  std::string conv{}, norm{};  // names
  std::int64_t filters = 0;
  Extent kernel = 3;
  Extent strides = 1;
};
Tensor conv_bn(Suite& suite, const Tensor& x, const ConvBn& layer);

// SGD with momentum 0.9 and decay 1e-4 on every parameter, with the moving averages.
void train_with_momentum(Suite& suite, float learning_rate);

}  // namespace belfry::bench
