#include "benchmarks/conv_bn.h"

#include "benchmarks/plain_step.h"

namespace belfry::bench {

Tensor conv_bn(const Tensor& x, const ConvBn& layer) {
  const std::int64_t pad = layer.kernel.height / 2;
  return x |
         conv2d(layer.conv, {.filters = layer.filters,
                             .kernel = layer.kernel,
                             .strides = layer.strides,
                             .padding = Padding::explicit_({pad, pad, pad, pad}),
                             .use_bias = false}) |
         batch_norm(layer.norm);
}

GetOptimizer momentum_with_decay(float learning_rate) {
  return [learning_rate] { return momentum({.learning_rate = learning_rate, .momentum = 0.9, .weight_decay = 1e-4}); };
}

std::vector<Parameter> residual_parameters(const Suite& suite) {
  const PlainStep tried = make_plain_step(suite);
  std::vector<Parameter> out;
  for (const Variable& v : tried.graph->collections().variables(collection::kTrainableVariables)) {
    const Shape& s = v.shape();
    if (s.rank() == 4)
      out.push_back({.name = v.name(), .order = Order::conv, .bound = he_bound(s[0] * s[1] * s[2])});
    else if (s.rank() == 2)
      out.push_back({.name = v.name(), .order = Order::linear, .bound = head_bound(s[0])});
    else
      out.push_back({.name = v.name(), .constant = v.name().ends_with("/gamma") ? 1.0 : 0.0});
  }
  return out;
}

}  // namespace belfry::bench
