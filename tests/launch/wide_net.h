// A model whose products oneDNN computes, with AVX2 and no more, with the stack pointer in memory of the heap.
#pragma once

#include "belfry/dataflow/repeat.h"
#include "tests/launch/launch_testing.h"

namespace belfry::testing_support {

class WideNet final : public ModelDesc {
 public:
  std::vector<TensorSpec> inputs() const override { return {{"x", f32, {kAny, 1024}}, {"label", i32, {kAny}}}; }
  Tensor build_graph(Inputs in) override {
    const Tensor hidden = in["x"] | fully_connected("fc0", {.units = 256, .activation = relu});
    const Tensor logits = hidden | fully_connected("fc1", {.units = 10});
    return reduce_mean(sparse_softmax_cross_entropy(logits, in["label"]), "cost");
  }
  std::unique_ptr<Optimizer> optimizer() override { return sgd({.learning_rate = 0.01f}); }
};

inline Flow wide_data(int batches) {
  return from_list({{Array::full(f32, {64, 1024}, 0.01), Array::full(i32, {64}, 1)}}) | repeat(batches);
}

}  // namespace belfry::testing_support
