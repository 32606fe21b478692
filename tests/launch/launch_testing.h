// What tests of whole trainings share: a small model, its data, and a configuration for both.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/sources/list.h"
#include "belfry/launch/train_config.h"
#include "belfry/nn/layers.h"
#include "belfry/nn/regularizers.h"
#include "belfry/nn/summary.h"
#include "belfry/ops/reduce.h"
#include "belfry/ops/softmax.h"
#include "belfry/train/trainers.h"
#include "tests/session/session_testing.h"
#include "tests/support/files.h"

namespace belfry::testing_support {

class Net final : public ModelDesc {
 public:
  explicit Net(int* optimizers = nullptr) : optimizers_(optimizers) {}
  std::vector<TensorSpec> inputs() const override { return {{"x", f32, {kAny, 4}}, {"label", i32, {kAny}}}; }
  Tensor build_graph(Inputs in) override {
    const Tensor logits = in["x"] | fully_connected("fc", {.units = 3, .kernel_regularizer = regularizer});
    const Tensor cost = reduce_mean(sparse_softmax_cross_entropy(logits, in["label"]), "cost");
    add_moving_summary({cost});
    return pay ? cost + regularize_cost_from_collection() : cost;
  }
  std::unique_ptr<Optimizer> optimizer() override {
    if (optimizers_ != nullptr) ++*optimizers_;
    return sgd({.learning_rate = 0.1f});
  }
  Regularizer regularizer{};
  bool pay = false;  // what the regularizer costs

 private:
  int* optimizers_;
};

inline Flow data(int count = 12) {
  std::vector<DataPoint> points;
  for (int i = 0; i < count; ++i)
    points.push_back({Array::full(f32, {4}, i * 0.1), Array(static_cast<std::int32_t>(i % 3))});
  return from_list(std::move(points));
}

class LaunchTest : public testing::Test {
 protected:
  TempDir dir;
  TrainConfig config(Handle<ModelDesc> net = model<Net>()) {
    return {.model = std::move(net),
            .dataflow = data() | batch(4),
            .session_config = {.devices = {{1}, {1}}},  // enough for trainers of two, on a machine with one core too
            .max_epoch = 2,
            .run_dir = dir.path()};
  }
};

}  // namespace belfry::testing_support
