// What tests of inputs share: a flow of numbers, and a training that writes down which of them each step gets.
#pragma once

#include <string>
#include <vector>

#include "belfry/dataflow/sources/list.h"
#include "belfry/input/flow_inputs.h"
#include "belfry/input/graph_inputs.h"
#include "belfry/loop/run_op.h"
#include "belfry/loop/trainer.h"
#include "tests/session/session_testing.h"

namespace belfry::testing_support {

using Values = std::vector<double>;

inline const std::vector<TensorSpec> kSignature{{"x", f32, {}}};

// The points 1, 2, ..., n.
inline Flow counting(int n) {
  std::vector<DataPoint> points;
  for (int i = 1; i <= n; ++i) points.push_back({Array(static_cast<float>(i))});
  return from_list(std::move(points));
}

// Adds what each step gets to a list.
class Watch final : public Callback {
 public:
  Watch(Tensors tensors, Values& seen) : tensors_(std::move(tensors)), seen_(&seen) {}
  HookRequest before_run(const RunContext&) override { return {.fetches = {tensors_.begin(), tensors_.end()}}; }
  void after_run(const RunContext&, const RunValues& values) override {
    for (const Array& v : values) seen_->push_back(v.item());
  }

 private:
  Tensors tensors_;
  Values* seen_;
};

class InputTest : public GraphTest {
 protected:
  // Trains with `towers` towers that each take a point, and gives all points in order.
  Values run(const InputSourcePtr& input, std::int64_t steps, int towers = 1, std::string* reason = nullptr,
             const std::string& restore = "") {
    Trainer trainer;
    trainer.register_callbacks(input->setup(kSignature));
    Tensors taken;
    for (int i = 0; i < towers; ++i) taken.push_back(input->get_input_tensors()[0]);
    Tensor sum = taken[0];
    for (int i = 1; i < towers; ++i) sum = sum + taken[static_cast<std::size_t>(i)];
    trainer.train_op = Operation(sum.node());
    if (!restore.empty()) trainer.callbacks()[0]->restore(restore);
    Values seen;
    const std::string why =
        trainer.train({.callbacks = {Watch(taken, seen)}, .steps_per_epoch = steps, .max_epoch = 1});
    if (reason != nullptr) *reason = why;
    position = trainer.callbacks()[0]->state();
    return seen;
  }
  std::string position;  // of the input after the last run()
};

}  // namespace belfry::testing_support
