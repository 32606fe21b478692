// A whole training in one structure.
#include "belfry/launch/train_config.h"

#include <gtest/gtest.h>

#include <csignal>

#include "belfry/callbacks/inference_runner.h"
#include "belfry/callbacks/model_saver.h"
#include "belfry/callbacks/progress_bar.h"
#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/list.h"
#include "belfry/input/flow_inputs.h"
#include "belfry/input/graph_inputs.h"
#include "belfry/loop/run_op.h"
#include "belfry/nn/layers.h"
#include "belfry/nn/regularizers.h"
#include "belfry/nn/summary.h"
#include "belfry/ops/reduce.h"
#include "belfry/ops/softmax.h"
#include "belfry/train/trainers.h"
#include "tests/session/session_testing.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

using testing_support::LogLines;
using testing_support::TempDir;

class Net final : public ModelDesc {
 public:
  explicit Net(int* optimizers = nullptr) : optimizers_(optimizers) {}
  std::vector<TensorSpec> inputs() const override { return {{"x", f32, {kAny, 4}}, {"label", i32, {kAny}}}; }
  Tensor build_graph(Inputs in) override {
    const Tensor logits = in["x"] | fully_connected("fc", {.units = 3, .kernel_regularizer = regularizer});
    const Tensor cost = reduce_mean(sparse_softmax_cross_entropy(logits, in["label"]), "cost");
    add_moving_summary({cost});
    return cost;
  }
  std::unique_ptr<Optimizer> optimizer() override {
    if (optimizers_ != nullptr) ++*optimizers_;
    return sgd({.learning_rate = 0.1f});
  }
  Regularizer regularizer{};

 private:
  int* optimizers_;
};

Flow data(int count = 12) {
  std::vector<DataPoint> points;
  for (int i = 0; i < count; ++i)
    points.push_back({Array::full(f32, {4}, i * 0.1), Array(static_cast<std::int32_t>(i % 3))});
  return from_list(std::move(points));
}

class LaunchTest : public testing::Test {
 protected:
  TempDir dir;
  TrainConfig config(Handle<ModelDesc> net = model<Net>()) {
    return {.model = std::move(net), .dataflow = data() | batch(4), .max_epoch = 2, .run_dir = dir.path()};
  }
};

TEST_F(LaunchTest, TrainsWithDefaults) {
  int optimizers = 0;
  SimpleTrainer trainer;
  EXPECT_EQ(launch_train_with_config(config(model<Net>(&optimizers)), trainer), "finished epoch 2");
  EXPECT_EQ(optimizers, 1);
  EXPECT_EQ(trainer.steps_per_epoch(), 3);
  EXPECT_EQ(trainer.monitors().history("cost").size(), 2u);
  EXPECT_EQ(trainer.monitors().history("input_queue_size").size(), 2u);
  EXPECT_TRUE(std::filesystem::exists(dir.path() + "/stats.json"));
}

TEST_F(LaunchTest, GradientsCanBeRequired) {
  class Wasteful final : public ModelDesc {
   public:
    std::vector<TensorSpec> inputs() const override { return Net().inputs(); }
    Tensor build_graph(Inputs in) override {
      in["x"] | fully_connected("unused", {.units = 2});
      return Net().build_graph(in);
    }
    std::unique_ptr<Optimizer> optimizer() override { return Net().optimizer(); }
  };
  TrainConfig c = config(model<Wasteful>());
  c.require_gradients = true;
  SimpleTrainer trainer;
  EXPECT_TRUE(contains(error_of([&] { launch_train_with_config(std::move(c), trainer); }),
                       "(rule 2), got no gradient for 'unused/W', 'unused/b'"));
}

TEST_F(LaunchTest, TheTrainerIsTheOnlyLineThatChanges) {
  SyncMultiDeviceTrainerReplicated trainer(cpu_devices(2));
  TrainConfig c = config();
  c.callbacks = {InferenceRunner(data() | batch(5, Remainder::keep), {ScalarStats("cost")}),
                 MinSaver("validation_cost")};
  EXPECT_EQ(launch_train_with_config(std::move(c), trainer), "finished epoch 2");
  EXPECT_EQ(trainer.monitors().history("validation_cost").size(), 2u);
  EXPECT_EQ(trainer.monitors().history("cost").size(), 2u);  // without the tower's prefix
}

TEST_F(LaunchTest, AnOptimizerGivenHereOverridesTheModels) {
  int optimizers = 0;
  TrainConfig c = config(model<Net>(&optimizers));
  c.optimizer = [] { return adam(); };
  SimpleTrainer trainer;
  launch_train_with_config(std::move(c), trainer);
  EXPECT_EQ(optimizers, 0);
  EXPECT_TRUE(trainer.graph().has_name("fc/W/Adam/m"));
}

TEST_F(LaunchTest, ExtraCallbacksReplaceTheDefaults) {
  TrainConfig c = config();
  c.extra_callbacks = Callbacks{};
  SimpleTrainer trainer;
  launch_train_with_config(std::move(c), trainer);
  EXPECT_TRUE(trainer.monitors().history("cost").empty());
}

TEST_F(LaunchTest, MistakesAreNamed) {
  const auto launch = [&](TrainConfig c) {
    SimpleTrainer trainer;
    return error_of([&] { launch_train_with_config(std::move(c), trainer); });
  };
  TrainConfig both = config();
  both.input = PlaceholderInput();
  EXPECT_TRUE(contains(launch(std::move(both)), "expected either .dataflow or .input, got both"));
  TrainConfig neither = config();
  neither.dataflow = {};
  EXPECT_TRUE(contains(launch(std::move(neither)), "expected either .dataflow or .input, got neither"));
  TrainConfig none = config();
  none.model = {};
  EXPECT_TRUE(contains(launch(std::move(none)), "expected a model, got none"));
  TrainConfig unknown = config();
  unknown.dataflow = {};
  unknown.input =
      TensorInput([] { return Tensors{constant(Array::zeros(f32, {2, 4})), constant(Array::zeros(i32, {2}))}; });
  EXPECT_TRUE(
      contains(launch(std::move(unknown)), "expected steps_per_epoch, or data that knows its size, got neither"));
}

TEST_F(LaunchTest, RegularisationThatNobodyPaysIsAWarning) {
  auto net = std::make_shared<Net>();
  net->regularizer = l2(1e-3);
  const LogLines log;
  SimpleTrainer trainer;
  launch_train_with_config(config(Handle<ModelDesc>(net)), trainer);
  EXPECT_TRUE(contains(log.text, "are not part of the cost. Add regularize_cost_from_collection() to it")) << log.text;
}

TEST_F(LaunchTest, ASignalFinishesTheStepSavesAndThrows) {
  TrainConfig c = config();
  c.max_epoch = 1000000;
  c.callbacks = {ModelSaver(), CallbackFactory({.trigger_step = [](Trainer& t) {
                   if (t.global_step() == 4) std::raise(SIGTERM);
                 }})};
  SimpleTrainer trainer;
  int code = 0;
  try {
    launch_train_with_config(std::move(c), trainer);
  } catch (const Interrupted& end) {
    code = end.exit_code();
  }
  EXPECT_EQ(code, 128 + SIGTERM);
  EXPECT_EQ(load_checkpoint(dir.path()).state.step, trainer.global_step());
  EXPECT_EQ(std::signal(SIGTERM, SIG_DFL), SIG_DFL);  // the handler that was there before is back
}

}  // namespace
}  // namespace belfry
