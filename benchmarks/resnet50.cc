// resnet50: four stages of 3, 4, 6, 3 bottleneck blocks with the stride in the 3x3 (v1.5), 224 x 224; batch 8; SGD
// 0.01, momentum 0.9, decay 1e-4
#include "benchmarks/conv_bn.h"
#include "benchmarks/hashed.h"

namespace belfry::bench {
namespace {

Tensor block(const Tensor& x, const std::string& name, std::int64_t width, std::int64_t stride) {
  Tensor y = conv_bn(x, {name + ".c1", name + ".b1", width, 1, 1}) | relu;
  y = conv_bn(y, {name + ".c2", name + ".b2", width, 3, stride}) | relu;
  y = conv_bn(y, {name + ".c3", name + ".b3", 4 * width, 1, 1});
  const bool project = x.shape()[-1] != 4 * width;
  return (y + (project ? conv_bn(x, {name + ".cs", name + ".bs", 4 * width, 1, stride}) : x)) | relu;
}

Tensor cost(const Inputs& in, bool recomputed) {
  Tensor y = conv_bn(in["x"], {"c0", "b0", 64, 7, 2}) | relu |
             max_pool("pool", {.window = 3, .strides = 2, .padding = Padding::explicit_({1, 1, 1, 1})});
  int number = 0;
  const std::int64_t widths[] = {64, 128, 256, 512}, depths[] = {3, 4, 6, 3};
  for (std::size_t stage = 0; stage < 4; ++stage)
    for (std::int64_t k = 0; k < depths[stage]; ++k) {
      const auto next = [&](const Tensor& x) {
        return block(x, "block" + std::to_string(number++), widths[stage], stage > 0 && k == 0 ? 2 : 1);
      };
      y = recomputed ? y | recompute(next) : next(y);
    }
  return mean_cross_entropy(y | global_avg_pool("mean") | fully_connected("head", {.units = 1000}), in["label"]);
}

}  // namespace

Suite make_resnet50(bool recomputed) {
  Suite s{.name = "resnet50", .steps = 1, .warmup = 2, .items = 8};
  s.signature = {{"x", f32, {kAny, 224, 224, 3}}, {"label", i32, {kAny}}};
  s.cost = [recomputed](const Inputs& in) { return cost(in, recomputed); };
  s.optimizer = momentum_with_decay(0.01f);
  s.parameters = residual_parameters(s);
  for (int b = 0; b < 2; ++b) s.batches.push_back({hashed_images(b, 8, 3, 224, 224), hashed_labels(b, 8, 1000)});
  return s;
}

}  // namespace belfry::bench
