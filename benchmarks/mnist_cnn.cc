// mnist_cnn: four 3x3 convolutions of 32 channels, two poolings, fc512, dropout, fc10; batch 128; Adam 1e-3
#include "benchmarks/hashed.h"
#include "benchmarks/suite.h"

namespace belfry::bench {

Suite make_mnist_cnn(bool with_dropout) {
  Suite s{.name = "mnist_cnn", .steps = 12, .warmup = 4, .items = 128};
  s.signature = {{"x", f32, {kAny, 28, 28, 1}}, {"label", i32, {kAny}}};
  s.cost = [with_dropout](const Inputs& in) {
    const auto conv = conv2d({.filters = 32, .kernel = 3, .activation = relu});
    Tensor y = in["x"] | conv("c0") | max_pool("p0", 2) | conv("c1") | conv("c2") | max_pool("p1", 2) | conv("c3") |
               fully_connected("fc0", {.units = 512, .activation = relu});
    if (with_dropout) y = y | dropout("drop", 0.5);
    return mean_cross_entropy(y | fully_connected("head", {.units = 10}), in["label"]);
  };
  s.optimizer = [] { return adam({.learning_rate = 1e-3f}); };
  for (const char* name : {"c0", "c1", "c2", "c3"}) {
    const std::int64_t in = std::string(name) == "c0" ? 1 : 32;
    s.parameters.push_back({.name = std::string(name) + "/W", .order = Order::conv, .bound = he_bound(9 * in)});
    s.parameters.push_back({.name = std::string(name) + "/b"});
  }
  s.parameters.push_back({.name = "fc0/W", .order = Order::after_image, .bound = he_bound(1568), .image = {7, 7, 32}});
  s.parameters.push_back({.name = "fc0/b"});
  s.parameters.push_back({.name = "head/W", .order = Order::linear, .bound = head_bound(512)});
  s.parameters.push_back({.name = "head/b"});
  for (int b = 0; b < 4; ++b) s.batches.push_back({hashed_images(b, 128, 1, 28, 28), hashed_labels(b, 128, 10)});
  return s;
}

}  // namespace belfry::bench
