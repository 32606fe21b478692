// A whole training in one structure.
#include "belfry/launch/train_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "belfry/base/file.h"
#include "belfry/callbacks/inference_runner.h"
#include "belfry/callbacks/model_saver.h"
#include "belfry/input/graph_inputs.h"
#include "belfry/loop/run_op.h"
#include "belfry/nn/hyper_param.h"
#include "tests/launch/launch_testing.h"

namespace belfry {
namespace {

using testing_support::data;
using testing_support::LaunchTest;
using testing_support::LogLines;
using testing_support::Net;

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

// A model that keeps its state, to reset it: only what the training's graph has arrives in the member.
TEST_F(LaunchTest, TheCallsThatCheckTheRulesAreAnotherModelsAndCanBeTurnedOff) {
  class Recurrent final : public ModelDesc {
   public:
    explicit Recurrent(int* calls) : calls_(calls) {}
    std::vector<TensorSpec> inputs() const override { return Net().inputs(); }
    Tensor build_graph(Inputs in) override {
      ++*calls_;
      states.push_back(new_variable("state", {}));
      return Net().build_graph(in) + states.back();
    }
    std::unique_ptr<Optimizer> optimizer() override { return Net().optimizer(); }
    std::vector<Variable> states;

   private:
    int* calls_;
  };
  for (const bool check : {true, false}) {
    int calls = 0;
    const Handle<ModelDesc> net = model<Recurrent>(&calls);
    const std::vector<Variable>& states = dynamic_cast<Recurrent&>(*net).states;
    TrainConfig c = config(net);
    c.check_tower_rules = check;
    c.callbacks = {RunOp([&] { return Operation(states.at(0).assign(3.f)); })};
    SimpleTrainer trainer;
    launch_train_with_config(std::move(c), trainer);
    EXPECT_EQ(calls, check ? 4 : 1);
    EXPECT_EQ(states.size(), 1U);
    EXPECT_EQ(trainer.session().value(states.at(0)).item(), 3);
  }
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

TEST_F(LaunchTest, TheLearningRateIsAmongTheStatistics) {
  TrainConfig c = config();
  c.optimizer = [] { return sgd({.learning_rate = hyper_param("learning_rate", 1e-3f)}); };
  SimpleTrainer trainer;
  launch_train_with_config(std::move(c), trainer);
  const std::string stats = read_file(dir.path() + "/stats.json");
  EXPECT_TRUE(contains(stats, R"("learning_rate":0.001)")) << stats;
}

TEST_F(LaunchTest, ASaverOfAMetricThatNobodyPutsIsAnErrorBeforeTheFirstStep) {
  TrainConfig c = config();
  c.callbacks = {ModelSaver(), MinSaver("validation_cost")};
  SimpleTrainer trainer;
  EXPECT_EQ(error_of([&] { launch_train_with_config(std::move(c), trainer); }),
            "[MinSaver] expected a metric that some callback puts, got 'validation_cost'. This training puts 'cost', "
            "'input_queue_size'. Add the callback that puts it.");
  EXPECT_EQ(trainer.global_step(), 0);
}

TEST_F(LaunchTest, WhatABadCostDoesCanBeChosen) {
  for (const OnBadCost then : {OnBadCost::warn, OnBadCost::stop_now}) {
    TrainConfig c = config();
    c.dataflow =
        from_list({{Array::full(f32, {1, 4}, std::numeric_limits<double>::infinity()), Array::zeros(i32, {1})}});
    c.on_bad_cost = then;
    SimpleTrainer trainer;
    if (then == OnBadCost::warn)
      EXPECT_EQ(launch_train_with_config(std::move(c), trainer), "finished epoch 2");
    else
      EXPECT_THROW(launch_train_with_config(std::move(c), trainer), NumericError);
  }
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

TEST_F(LaunchTest, RegularisationThatIsPaidIsNoWarning) {
  for (const bool replicated : {false, true}) {
    auto net = std::make_shared<Net>();
    net->regularizer = l2(1e-3);
    net->pay = true;
    const LogLines log;
    SimpleTrainer simple;
    SyncMultiDeviceTrainerReplicated two(cpu_devices(2));
    launch_train_with_config(config(Handle<ModelDesc>(net)),
                             replicated ? static_cast<SingleCostTrainer&>(two) : simple);
    EXPECT_FALSE(contains(log.text, "are not part of the cost")) << log.text;
  }
}

TEST_F(LaunchTest, CallbacksComeInTheDocumentedOrder) {
  TrainConfig c = config();
  c.callbacks = {ModelSaver(), CallbackFactory({.name = "the user's"})};
  SyncMultiDeviceTrainerReplicated trainer(cpu_devices(2));
  launch_train_with_config(std::move(c), trainer);
  std::vector<std::string> names;
  for (const Handle<Callback>& callback : trainer.callbacks()) names.push_back(callback->name());
  EXPECT_EQ(names, (std::vector<std::string>{"QueueInput", "RunOp", "CostGuard", "StepCounter", "ModelSaver",
                                             "the user's", "MovingAverageSummary", "ProgressBar", "MergeAllSummaries",
                                             "RunUpdateOps", "HyperParamSummary", "JSONWriter", "ScalarPrinter"}));
}

TEST_F(LaunchTest, AFlowIsReadAheadByAQueueAlone) {
  const auto expect_queue = [this](SingleCostTrainer& trainer) {
    launch_train_with_config(config(), trainer);
    EXPECT_EQ(trainer.callbacks()[0]->name(), "QueueInput");
    EXPECT_EQ(trainer.callbacks()[1]->name(), "CostGuard");
  };
  {
    SimpleTrainer one;
    expect_queue(one);
  }
  SyncMultiDeviceTrainer two(cpu_devices(2));
  expect_queue(two);
}

TEST_F(LaunchTest, AnEpochIsOnePassWhateverTheNumberOfTowersAndTheLogSaysSo) {
  std::string text;
  const LogRedirect redirect([&](LogLevel, std::string_view line) { text += std::string(line) + "\n"; },
                             LogLevel::info);
  SyncMultiDeviceTrainerParameterServer trainer(cpu_devices(2));
  launch_train_with_config(config(), trainer);
  EXPECT_EQ(trainer.steps_per_epoch(), 3);
  EXPECT_TRUE(
      contains(text, "[train] steps_per_epoch is 3: one pass of the data, not divided by the number of towers."))
      << text;
}

TEST_F(LaunchTest, EveryFieldOfTheConfigurationCounts) {
  struct Collect final : Monitor {
    explicit Collect(std::vector<std::string>& n) : names(&n) {}
    void put_scalar(const std::string& name, double, std::int64_t) override { names->push_back(name); }
    std::vector<std::string>* names;
  };
  std::vector<std::string> names;
  TrainConfig c = config();
  c.monitors = {Collect(names)};
  c.session_init = DictRestore({{"fc/b", Array::of<float>({3}, {1, 2, 3})}});
  c.session_config = {.devices = {{1}}};
  c.starting_epoch = 4;
  c.steps_per_epoch = 2;
  c.max_epoch = 5;
  c.optimizer = [] { return sgd({.learning_rate = 0.f}); };
  SimpleTrainer trainer;
  EXPECT_EQ(launch_train_with_config(std::move(c), trainer), "finished epoch 5");
  EXPECT_EQ(trainer.global_step(), 4);
  EXPECT_EQ(trainer.starting_epoch(), 4);
  EXPECT_EQ(trainer.max_epoch(), 5);
  EXPECT_EQ(trainer.run_dir(), dir.path());
  EXPECT_TRUE(
      equal(trainer.session().value(trainer.graph().get_variable_by_name("fc/b")), Array::of<float>({3}, {1, 2, 3})));
  EXPECT_EQ(std::ranges::count(names, "cost"), 2);
  EXPECT_FALSE(std::filesystem::exists(dir / "stats.json"));  // other monitors replace the default ones
}

TEST_F(LaunchTest, AFlowThatDoesNotFitTheModelIsNamed) {
  TrainConfig c = config();
  c.dataflow = data();  // not batched
  SimpleTrainer trainer;
  const std::string text = error_of([&] { launch_train_with_config(std::move(c), trainer); });
  EXPECT_TRUE(
      text.starts_with("[QueueInput] input 'x' expects f32 [?, 4], the flow's component 0 is f32 [4]. Batch the "
                       "flow: flow | batch(32) (called at train_config_test.cc:"))
      << text;
}

}  // namespace
}  // namespace belfry
