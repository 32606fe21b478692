// Building blocks of residual networks.
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
Tensor conv_bn(const Tensor& x, const ConvBn& layer);

// SGD with momentum 0.9 and decay 1e-4 on every parameter, with the moving averages.
GetOptimizer momentum_with_decay(float learning_rate);

// The parameters of such a network, its head included, numbered in the order in which its tower function makes them.
std::vector<Parameter> residual_parameters(const Suite& suite);

}  // namespace belfry::bench
