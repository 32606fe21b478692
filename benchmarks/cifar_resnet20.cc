// cifar_resnet20: three stages of three basic blocks (16, 32, 64 channels); batch 128; SGD 0.1, momentum 0.9, decay
// 1e-4
#include "benchmarks/hashed.h"
#include "benchmarks/suite.h"

namespace belfry::bench {
namespace {

// Layers in the order in which their parameters are numbered.
class Builder {
 public:
  explicit Builder(Suite& suite) : suite_(suite) {}

  Tensor conv_bn(const Tensor& x, const std::string& conv, const std::string& norm, std::int64_t filters, Extent kernel,
                 Extent strides) {
    const std::int64_t in = x.shape()[-1];
    suite_.parameters.push_back(
        {.name = conv + "/W", .order = Order::conv, .bound = he_bound(kernel.height * kernel.width * in)});
    suite_.parameters.push_back({.name = norm + "/gamma", .constant = 1});
    suite_.parameters.push_back({.name = norm + "/beta"});
    const std::int64_t pad = kernel.height / 2;
    return x |
           conv2d(conv, {.filters = filters,
                         .kernel = kernel,
                         .strides = strides,
                         .padding = Padding::explicit_({pad, pad, pad, pad}),
                         .use_bias = false}) |
           batch_norm(norm);
  }

  Tensor block(const Tensor& x, const std::string& name, std::int64_t filters, std::int64_t stride) {
    Tensor y = conv_bn(x, name + ".c1", name + ".b1", filters, 3, stride) | relu;
    y = conv_bn(y, name + ".c2", name + ".b2", filters, 3, 1);
    const bool project = x.shape()[-1] != filters;
    return (y + (project ? conv_bn(x, name + ".cs", name + ".bs", filters, 1, stride) : x)) | relu;
  }

 private:
  Suite& suite_;
};

}  // namespace

Suite make_cifar_resnet20() {
  Suite s{.name = "cifar_resnet20", .steps = 5, .warmup = 3, .items = 128};
  const GraphScope scope(*s.graph);
  const TrainTowerContext tower("");
  const Tensor x = placeholder({"x", f32, {kAny, 32, 32, 3}}), label = placeholder({"label", i32, {kAny}});
  s.inputs = {x, label};
  Builder build(s);
  Tensor y = build.conv_bn(x, "c0", "b0", 16, 3, 1) | relu;
  int number = 0;
  for (std::int64_t filters : {16, 32, 64})
    for (int k = 0; k < 3; ++k)
      y = build.block(y, "block" + std::to_string(number++), filters, y.shape()[-1] != filters ? 2 : 1);
  s.loss = mean_cross_entropy(y | global_avg_pool("mean") | fully_connected("head", {.units = 10}), label);
  s.parameters.push_back({.name = "head/W", .order = Order::linear, .bound = head_bound(64)});
  s.parameters.push_back({.name = "head/b"});
  const Operation update = momentum({.learning_rate = 0.1f, .momentum = 0.9, .weight_decay = 1e-4})->minimize(s.loss);
  std::vector<Operation> all = s.graph->collections().operations(collection::kUpdateOps);  // the moving averages
  all.push_back(update);
  s.train = group(all, "train");
  for (int b = 0; b < 4; ++b) s.batches.push_back({hashed_images(b, 128, 3, 32, 32), hashed_labels(b, 128, 10)});
  return s;
}

}  // namespace belfry::bench
