// cifar_resnet20: three stages of three basic blocks (16, 32, 64 channels); batch 128; SGD 0.1, momentum 0.9, decay
// 1e-4
#include "benchmarks/conv_bn.h"
#include "benchmarks/hashed.h"

namespace belfry::bench {
namespace {

Tensor block(const Tensor& x, const std::string& name, std::int64_t filters, std::int64_t stride) {
  Tensor y = conv_bn(x, {name + ".c1", name + ".b1", filters, 3, stride}) | relu;
  y = conv_bn(y, {name + ".c2", name + ".b2", filters, 3, 1});
  const bool project = x.shape()[-1] != filters;
  return (y + (project ? conv_bn(x, {name + ".cs", name + ".bs", filters, 1, stride}) : x)) | relu;
}

Tensor cost(const Inputs& in) {
  Tensor y = conv_bn(in["x"], {"c0", "b0", 16, 3, 1}) | relu;
  int number = 0;
  for (std::int64_t filters : {16, 32, 64})
    for (int k = 0; k < 3; ++k)
      y = block(y, "block" + std::to_string(number++), filters, y.shape()[-1] != filters ? 2 : 1);
  return mean_cross_entropy(y | global_avg_pool("mean") | fully_connected("head", {.units = 10}), in["label"]);
}

}  // namespace

Suite make_cifar_resnet20() {
  Suite s{.name = "cifar_resnet20", .steps = 5, .warmup = 3, .items = 128};
  s.signature = {{"x", f32, {kAny, 32, 32, 3}}, {"label", i32, {kAny}}};
  s.cost = cost;
  s.optimizer = momentum_with_decay(0.1f);
  s.parameters = residual_parameters(s);
  for (int b = 0; b < 4; ++b) s.batches.push_back({hashed_images(b, 128, 3, 32, 32), hashed_labels(b, 128, 10)});
  return s;
}

}  // namespace belfry::bench
