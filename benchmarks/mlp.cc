// mlp: fc784-128, relu, fc128-10; batch 32; SGD 0.1
#include "benchmarks/hashed.h"
#include "benchmarks/suite.h"

namespace belfry::bench {

Suite make_mlp() {
  Suite s{.name = "mlp", .steps = 400, .warmup = 50, .items = 32};
  s.signature = {{"x", f32, {kAny, 784}}, {"label", i32, {kAny}}};
  s.cost = [](const Inputs& in) {
    return mean_cross_entropy(
        in["x"] | fully_connected("fc1", {.units = 128, .activation = relu}) | fully_connected("head", {.units = 10}),
        in["label"]);
  };
  s.optimizer = [] { return sgd({.learning_rate = 0.1f}); };
  s.parameters = {{.name = "fc1/W", .order = Order::linear, .bound = he_bound(784)},
                  {.name = "fc1/b"},
                  {.name = "head/W", .order = Order::linear, .bound = head_bound(128)},
                  {.name = "head/b"}};
  for (int b = 0; b < 8; ++b) s.batches.push_back({hashed_rows(b, 32, 784), hashed_labels(b, 32, 10)});
  return s;
}

}  // namespace belfry::bench
