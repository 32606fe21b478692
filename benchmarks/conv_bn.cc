#include "benchmarks/conv_bn.h"

namespace belfry::bench {

Tensor conv_bn(Suite& suite, const Tensor& x, const ConvBn& layer) {
  const std::int64_t fan_in = layer.kernel.height * layer.kernel.width * x.shape()[-1], pad = layer.kernel.height / 2;
  suite.parameters.push_back({.name = layer.conv + "/W", .order = Order::conv, .bound = he_bound(fan_in)});
  suite.parameters.push_back({.name = layer.norm + "/gamma", .constant = 1});
  suite.parameters.push_back({.name = layer.norm + "/beta"});
  return x |
         conv2d(layer.conv, {.filters = layer.filters,
                             .kernel = layer.kernel,
                             .strides = layer.strides,
                             .padding = Padding::explicit_({pad, pad, pad, pad}),
                             .use_bias = false}) |
         batch_norm(layer.norm);
}

void train_with_momentum(Suite& suite, float learning_rate) {
  suite.train = momentum({.learning_rate = learning_rate, .momentum = 0.9, .weight_decay = 1e-4})->minimize(suite.loss);
}

}  // namespace belfry::bench
