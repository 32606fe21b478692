// The handbook's code on trainers: ./dev docs checks that every block there stands here word for word.
#include <belfry/belfry.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "belfry/base/parallel.h"
#include "tests/support/files.h"

namespace bf = belfry;

namespace {

class Line final : public bf::ModelDesc {
 public:
  std::vector<bf::TensorSpec> inputs() const override {
    return {{"x", bf::f32, {bf::kAny, 1}}, {"y", bf::f32, {bf::kAny, 1}}};
  }
  bf::Tensor build_graph(bf::Inputs in) override {
    const bf::Tensor y = in["x"] | bf::fully_connected("fc", {.units = 1});
    const bf::Tensor cost = bf::reduce_mean(bf::square(y - in["y"]), "cost");
    bf::add_moving_summary({cost});
    return cost;
  }
  std::unique_ptr<bf::Optimizer> optimizer() override {
    return bf::sgd({.learning_rate = bf::hyper_param("rate", 0.1f)});
  }
};

bf::Flow points() {
  std::vector<bf::DataPoint> out;
  for (int i = 0; i < 32; ++i)
    out.push_back({bf::Array::full(bf::f32, {1}, i * 0.05), bf::Array::full(bf::f32, {1}, 1 - i * 0.1)});
  return bf::from_list(std::move(out));
}

class Alternating final : public bf::Trainer {
 public:
  Alternating() {  // the trainer's graph is the current one: ops may be made here, or before the trainer
    const bf::Variable x = bf::get_variable("x", {.initializer = bf::init::constant(1)});
    cost_ = bf::square(x - 3.f);
    down_ = bf::sgd({.learning_rate = 0.1f})->minimize(cost_);
    shake_ = x.assign_add(bf::random_normal({}, {.stddev = 0.01}));
  }

  void run_step() override {
    hooked_session().run(iteration() % 10 == 0 ? shake_ : down_);  // a step: global_step counts it, callbacks join it
    if (session().run(cost_).item() < 1e-4) throw bf::StopTraining("the cost is small");  // a look, not a step
  }

 private:
  bf::Tensor cost_;
  bf::Operation down_, shake_;
};

class LargestCost final : public bf::Callback {  // of the steps of each epoch, as a metric
 public:
  void before_train() override { cost_ = trainer().get_tensor("cost"); }  // an unknown name is an error
  void before_epoch() override { largest_ = -std::numeric_limits<double>::infinity(); }

  bf::HookRequest before_run(const bf::RunContext&) override { return {.fetches = {cost_}}; }  // along with the step
  void after_run(const bf::RunContext&, const bf::RunValues& values) override {                // of the same execution
    const double cost = values[0].item();
    if (!std::isfinite(cost)) throw bf::StopTraining("the cost is not finite");
    largest_ = std::max(largest_, cost);
  }

  void trigger_epoch() override { trainer().monitors().put_scalar("largest_cost", largest_); }

 private:
  bf::Tensor cost_;
  double largest_ = 0;
};

class StopAtRate final : public bf::Callback {  // when a schedule has lowered the rate to `least`
 public:
  explicit StopAtRate(double least) : least_(least) {}
  void before_train() override { rate_ = trainer().graph().get_variable_by_name("rate"); }
  void trigger_epoch() override {
    if (trainer().session().value(rate_).item() < least_) throw bf::StopTraining("the rate is small");
  }

 private:
  double least_;
  bf::Variable rate_;
};

class LineWithSlope final : public bf::ModelDesc {
 public:
  std::vector<bf::TensorSpec> inputs() const override {
    return {{"x", bf::f32, {bf::kAny, 1}}, {"y", bf::f32, {bf::kAny, 1}}};
  }
  bf::Tensor build_graph(bf::Inputs in) override {
    const bf::Variable slope = bf::get_variable("slope", {.shape = {}, .initializer = bf::init::zeros()});
    const bf::Tensor residuals = in["x"] * slope + 1.f - in["y"];
    if (bf::get_current_tower_context().is_main_training_tower()) {  // inference towers and others call it too
      slope_ = slope;
      largest_ = bf::reduce_max(bf::abs(residuals));
    }
    return bf::reduce_mean(bf::square(residuals), "cost");
  }
  std::unique_ptr<bf::Optimizer> optimizer() override { return bf::sgd({.learning_rate = 0.1f}); }

  const bf::Variable& slope() const { return slope_; }
  const bf::Tensor& largest_residual() const { return largest_; }

 private:
  bf::Variable slope_;
  bf::Tensor largest_;
};

class ShowSlope final : public bf::Callback {
 public:
  explicit ShowSlope(std::shared_ptr<const LineWithSlope> model) : model_(std::move(model)) {}
  bf::HookRequest before_run(const bf::RunContext&) override { return {.fetches = {model_->largest_residual()}}; }
  void after_run(const bf::RunContext&, const bf::RunValues& values) override { largest_ = values[0].item(); }
  void trigger_epoch() override {
    const double slope = trainer().session().value(model_->slope()).item();
    bf::log_info("slope " + std::to_string(slope) + ", largest residual " + std::to_string(largest_));
  }

 private:
  std::shared_ptr<const LineWithSlope> model_;
  double largest_ = 0;
};

}  // namespace

TEST(HandbookTrainers, ReadingAVariableInACallback) {
  const bf::testing_support::TempDir temporary;
  bf::SimpleTrainer trainer;
  const std::string end = bf::launch_train_with_config(
      {.model = bf::model<Line>(),
       .dataflow = points() | bf::batch(8),
       .callbacks = {bf::ScheduledHyperParamSetter("rate", {{2, 0.01}, {4, 0.001}}), StopAtRate(0.05)},
       .max_epoch = 5,
       .run_dir = temporary / "run"},
      trainer);
  EXPECT_EQ(end, "the rate is small");
  EXPECT_EQ(trainer.epoch_num(), 2);
}

TEST(HandbookTrainers, AModelWhoseMembersACallbackUses) {
  const bf::testing_support::TempDir temporary;
  const std::string directory = temporary / "run";
  const bf::Flow data = points(), test = points();
  std::vector<std::string> lines;
  const bf::LogRedirect redirect([&](bf::LogLevel, std::string_view line) { lines.emplace_back(line); });
  const auto line = std::make_shared<LineWithSlope>();
  bf::TrainConfig config{
      .model = line,  // the trainer and the callback have the same one
      .dataflow = data | bf::batch(8),
      .callbacks = {ShowSlope(line), bf::InferenceRunner(test | bf::batch(8), {bf::ScalarStats("cost")})},
      .max_epoch = 2,
      .run_dir = directory};
  bf::SimpleTrainer trainer;
  bf::launch_train_with_config(std::move(config), trainer);
  EXPECT_EQ(std::ranges::count_if(lines, [](const auto& text) { return text.starts_with("slope "); }), 2);
  EXPECT_NE(trainer.session().value(line->slope()).item(), 0);
}

TEST(HandbookTrainers, ACallbackOfYourOwn) {
  const bf::testing_support::TempDir temporary;
  const std::string directory = temporary / "run";
  bf::SimpleTrainer trainer;
  bf::launch_train_with_config({.model = bf::model<Line>(),
                                .dataflow = points() | bf::batch(8),
                                .callbacks = {LargestCost()},
                                .max_epoch = 2,
                                .run_dir = directory},
                               trainer);
  EXPECT_GE(*trainer.monitors().latest("largest_cost"), *trainer.monitors().latest("cost"));
}

TEST(HandbookTrainers, OneLineChooses) {
  if (bf::hardware_threads() < 2) GTEST_SKIP() << "two devices need two cores";
  const bf::testing_support::TempDir temporary;
  const std::string directory = temporary / "run";
  const bf::Flow data = points(), test = points();
  bf::TrainConfig config{
      .model = bf::model<Line>(),
      .dataflow = data | bf::batch(8),
      .callbacks = {bf::ModelSaver(), bf::InferenceRunner(test | bf::batch(8), {bf::ScalarStats("cost")}),
                    bf::MinSaver("validation_cost"), bf::ScheduledHyperParamSetter("rate", {{2, 0.01}})},
      .max_epoch = 3,
      .run_dir = directory};
  bf::SyncMultiDeviceTrainerReplicated trainer(bf::cpu_devices(2));  // or bf::SimpleTrainer trainer;
  bf::launch_train_with_config(std::move(config), trainer);
  EXPECT_LT(*trainer.monitors().latest("validation_cost"), 0.5);
}

TEST(HandbookTrainers, ARunGoesOn) {
  const bf::testing_support::TempDir temporary;
  const std::string directory = temporary / "run";
  const auto until = [&](int epoch) {
    return bf::TrainConfig{.model = bf::model<Line>(),
                           .dataflow = points() | bf::batch(8),
                           .callbacks = {bf::ModelSaver()},
                           .steps_per_epoch = 2,
                           .max_epoch = epoch,
                           .run_dir = directory};
  };
  {
    bf::SimpleTrainer trainer;
    bf::launch_train_with_config(until(3), trainer);
  }
  bf::TrainConfig config = until(6);
  config.auto_resume = true;
  bf::SimpleTrainer trainer;
  bf::launch_train_with_config(std::move(config), trainer);
  EXPECT_EQ(trainer.global_step(), 12);
}

TEST(HandbookTrainers, AnotherRunTakesTheModel) {
  const belfry::testing_support::TempDir scratch;
  const std::string& directory = scratch.path();
  const auto configured = [&] {
    return bf::TrainConfig{.model = bf::model<Line>(),
                           .dataflow = points() | bf::batch(8),
                           .callbacks = {bf::ModelSaver(), bf::ScheduledHyperParamSetter("rate", {{1, 0.0}})},
                           .max_epoch = 1,
                           .run_dir = directory};
  };
  {
    bf::SimpleTrainer trainer;
    bf::launch_train_with_config(configured(), trainer);
  }
  bf::TrainConfig config = configured();
  config.callbacks = {bf::ModelSaver()};
  config.session_init = bf::SaverRestore(directory, {.skip_mismatched = true});  // layers of another size start fresh
  config.run_dir = directory + "/fine-tuned";
  bf::SimpleTrainer trainer;
  bf::launch_train_with_config(std::move(config), trainer);
  EXPECT_EQ(trainer.global_step(), 4) << "counted anew";
  const bf::Variable rate = trainer.graph().get_variable_by_name("rate");
  EXPECT_FLOAT_EQ(static_cast<float>(trainer.session().value(rate).item()), 0.1f) << "not the 0 of the checkpoint";
}

TEST(HandbookTrainers, SynchronisedBatchNorm) {
  bf::SyncMultiDeviceTrainerReplicated trainer(bf::cpu_devices(2));
  const auto conv = bf::conv2d({.filters = 4, .kernel = 3, .use_bias = false});
  const auto features = [&](const bf::Tensor& x) {
    const auto norm = bf::batch_norm({.sync_statistics = true, .activation = bf::relu});
    return x | conv("conv0") | norm("bn0") | conv("conv1") | norm("bn1");
  };
  trainer.setup_graph(
      {{"x", bf::f32, {bf::kAny, 4, 4, 1}}}, bf::DummyConstantInput({{2, 4, 4, 1}}),
      [&](bf::Inputs in) { return bf::reduce_mean(bf::square(features(in["x"]))); },
      [] { return bf::sgd({.learning_rate = 0.1f}); });
  EXPECT_EQ(trainer.train({.session_config = {.devices = {{1}, {1}}}, .steps_per_epoch = 3, .max_epoch = 1}),
            "finished epoch 1");
}

TEST(HandbookTrainers, Raw) {
  bf::Graph graph;
  const bf::GraphScope scope(graph);
  const bf::Variable centre = bf::get_variable("centre", {.initializer = bf::init::zeros(), .trainable = false});
  const bf::Tensor point = bf::random_uniform({});
  std::vector<int> shown;
  const auto show = [&](bf::Trainer& t) { shown.push_back(t.epoch_num()); };
  bf::Trainer trainer;
  trainer.train_op = centre.assign_sub((centre - point) * 0.5f);
  trainer.train(
      {.callbacks = {bf::PeriodicTrigger(bf::CallbackFactory({.trigger_epoch = show}), {.every_k_epochs = 2})},
       .steps_per_epoch = 10,
       .max_epoch = 4});
  EXPECT_EQ(shown, (std::vector<int>{2, 4}));
  EXPECT_GT(trainer.session().value(centre).item(), 0);
}

TEST(HandbookTrainers, OwnRunStep) {
  Alternating trainer;
  const bf::StopOnSignal signals(trainer);  // a signal finishes the step, saves and ends; a second one ends the program
  const std::string reason = trainer.train({.steps_per_epoch = 10, .max_epoch = 20});
  signals.throw_if_interrupted();  // bf::Interrupted
  EXPECT_EQ(reason, "the cost is small");
  EXPECT_GT(trainer.iteration(), 10);
  EXPECT_EQ(trainer.global_step(), trainer.iteration() + 1);  // the last run_step() did not finish
}
