// The callbacks that a first training needs: what each puts, sets, saves and prints.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "belfry/base/file.h"
#include "belfry/callbacks/hyper_param_setter.h"
#include "belfry/callbacks/inference_runner.h"
#include "belfry/callbacks/model_saver.h"
#include "belfry/callbacks/monitors/json_writer.h"
#include "belfry/callbacks/monitors/scalar_printer.h"
#include "belfry/callbacks/progress_bar.h"
#include "belfry/callbacks/summaries.h"
#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/list.h"
#include "belfry/input/flow_inputs.h"
#include "belfry/loop/run_op.h"
#include "belfry/nn/hyper_param.h"
#include "belfry/nn/summary.h"
#include "belfry/ops/reduce.h"
#include "belfry/session/session_init.h"
#include "belfry/train/trainers.h"
#include "tests/session/session_testing.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

using testing_support::GraphTest;

class CallbacksTest : public GraphTest {
 protected:
  Variable count = var("count", Array(0.f));
  Tensor counted = count.assign_add(1.f);  // 1, 2, 3, ... in the steps
  std::string directory =
      testing::TempDir() + "belfry_callbacks_" + testing::UnitTest::GetInstance()->current_test_info()->name();
  void SetUp() override { std::filesystem::remove_all(directory); }
  void TearDown() override { std::filesystem::remove_all(directory); }

  // Three epochs of two steps.
  void run(Trainer& trainer, Callbacks callbacks, std::vector<Handle<Monitor>> monitors = {}) {
    if (!trainer.train_op) trainer.train_op = Operation(counted.node());
    trainer.train({.callbacks = std::move(callbacks),
                   .monitors = std::move(monitors),
                   .steps_per_epoch = 2,
                   .max_epoch = 3,
                   .run_dir = directory});
  }
  static std::vector<double> values(Trainer& trainer, const char* name) {
    std::vector<double> out;
    for (const Monitors::Entry& e : trainer.monitors().history(name)) out.push_back(e.value);
    return out;
  }
};

TEST_F(CallbacksTest, MovingAveragesWeighTheFirstStepsFully) {
  add_moving_summary({identity(counted, "tower0/loss")});
  Trainer trainer;
  run(trainer, {MovingAverageSummary({.decay = 0.5})});
  // After two steps: (1 / 4 + 2 / 2) / (3 / 4).
  const std::vector<double> got = values(trainer, "loss");
  ASSERT_EQ(got.size(), 3u);
  EXPECT_DOUBLE_EQ(got[0], (0.25 * 1 + 0.5 * 2) / 0.75);
  EXPECT_EQ(trainer.monitors().history("loss")[1].step, 4);
}

TEST_F(CallbacksTest, MovingAveragesGoOnFromTheirState) {
  add_moving_summary({identity(counted, "loss")});
  std::string state;
  Trainer trainer;
  run(trainer, {MovingAverageSummary(),
                CallbackFactory({.after_train = [&](Trainer& t) { state = t.callbacks()[1]->state(); }})});
  MovingAverageSummary again;
  Trainer other;
  again.attach(other);
  again.setup_graph();
  again.restore(state);
  EXPECT_EQ(again.state(), state);
  EXPECT_TRUE(contains(error_of([&] { again.restore("{}"); }), "[MovingAverageSummary] expected the state"));
}

TEST_F(CallbacksTest, SummariesComeFromTheEpochsLastStepBeforeAnyTrigger) {
  add_summary({identity(counted, "value"), multiply(constant(Array::full(f32, {3}, 1)), counted, "vector")});
  std::vector<double> seen;
  Trainer trainer;
  run(trainer,
      {MergeAllSummaries(),
       CallbackFactory({.trigger_epoch = [&](Trainer& t) { seen.push_back(*t.monitors().latest("value")); }})});
  EXPECT_EQ(seen, (std::vector<double>{2, 4, 6}));
  EXPECT_EQ(values(trainer, "vector/mean"), (std::vector<double>{2, 4, 6}));
}

TEST_F(CallbacksTest, SchedulesSetTheValueAfterTheEpoch) {
  const Variable rate = hyper_param("rate", 0.5f);
  std::vector<double> seen;
  Trainer trainer;
  trainer.train_op = Operation(counted.node());
  trainer.train(
      {.callbacks = {ScheduledHyperParamSetter("rate", {{2, 0.25}, {3, 0.0}}),
                     CallbackFactory(
                         {.before_epoch = [&](Trainer& t) { seen.push_back(t.session().value(rate).item()); }})},
       .steps_per_epoch = 1,
       .max_epoch = 4});
  EXPECT_EQ(seen, (std::vector<double>{0.5, 0.5, 0.25, 0}));  // 0 is a value like any other
}

TEST_F(CallbacksTest, SchedulesCanBeLinearAndCountSteps) {
  const Variable rate = hyper_param("rate", 1.f);
  std::vector<double> seen;
  Trainer trainer;
  trainer.train_op = Operation(counted.node());
  trainer.train(
      {.callbacks = {ScheduledHyperParamSetter("rate", {{0, 1}, {4, 0}}, {.linear = true, .step_based = true}),
                     CallbackFactory(
                         {.trigger_step = [&](Trainer& t) { seen.push_back(t.session().value(rate).item()); }})},
       .steps_per_epoch = 5,
       .max_epoch = 1});
  EXPECT_EQ(seen, (std::vector<double>{0.75, 0.5, 0.25, 0, 0}));
}

TEST_F(CallbacksTest, ScheduleMistakesAreNamed) {
  EXPECT_TRUE(
      contains(error_of([] { ScheduledHyperParamSetter("rate", {}); }), "expected a schedule, got an empty one"));
  EXPECT_TRUE(contains(error_of([] { ScheduledHyperParamSetter("rate", {{1, 1}, {1, 2}}); }), "got 1 twice"));
  Trainer trainer;
  EXPECT_TRUE(contains(error_of([&] { run(trainer, {ScheduledHyperParamSetter("lr", {{1, 1.0}})}); }), "'lr'"));
}

TEST_F(CallbacksTest, ModelSaverKeepsTheNewestCheckpoints) {
  Trainer trainer;
  run(trainer, {ModelSaver({.keep = 2})});
  EXPECT_FALSE(std::filesystem::exists(directory + "/model-2.safetensors"));
  EXPECT_TRUE(std::filesystem::exists(directory + "/model-4.safetensors"));
  const Checkpoint last = load_checkpoint(directory);
  EXPECT_EQ(last.tensors.at("count").item(), 6);
  EXPECT_EQ(last.state.epoch, 3);
  EXPECT_EQ(nlohmann::json::parse(last.state.user.at("loop")).at("global_step"), 6);
}

TEST_F(CallbacksTest, ASignalSavesTheUnfinishedEpoch) {
  Trainer trainer;
  run(trainer, {ModelSaver(), CallbackFactory({.trigger_step = [](Trainer& t) {
                  if (t.global_step() == 3) t.request_stop("signal 15", true);
                }})});
  EXPECT_EQ(load_checkpoint(directory).state.step, 3);
}

TEST_F(CallbacksTest, MinSaverKeepsTheBest) {
  const double metric[] = {0.5, 0.2, 0.3};
  Trainer trainer;
  run(trainer,
      {CallbackFactory(
           {.trigger_epoch = [&](Trainer& t) { t.monitors().put_scalar("val/error", metric[t.epoch_num() - 1]); }}),
       MinSaver("val/error"), MaxSaver("val/error")});
  EXPECT_TRUE(std::filesystem::exists(directory + "/min-val_error-4.safetensors"));
  EXPECT_TRUE(std::filesystem::exists(directory + "/max-val_error-2.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(directory + "/min-val_error-2.safetensors"));
}

TEST_F(CallbacksTest, AMetricThatIsPutLaterOrNeverIsAnError) {
  const auto put = [](const char* name) {
    return CallbackFactory({.trigger_epoch = [name](Trainer& t) { t.monitors().put_scalar(name, 1); }});
  };
  {
    Trainer trainer;
    EXPECT_EQ(
        error_of([&] { run(trainer, {MinSaver("error"), put("error")}); }),
        "[MinSaver] expected a new value of 'error' by the end of the first epoch, got none. Put the callback that "
        "computes it before this one.");
  }
  Graph own;
  const GraphScope inside(own);
  Trainer trainer;
  trainer.train_op = Operation(var("c", Array(0.f)).assign_add(1.f).node());
  EXPECT_TRUE(contains(error_of([&] { run(trainer, {put("errors"), MinSaver("error")}); }), "Did you mean 'errors'?"));
}

TEST_F(CallbacksTest, BestSaversGoOnFromTheirState) {
  MinSaver saver("error");
  saver.restore(R"({"seen":3,"step":4,"value":"0.25"})");
  EXPECT_EQ(saver.best()->value, 0.25);
  EXPECT_EQ(saver.state(), R"({"seen":3,"step":4,"value":"0.25"})");
}

TEST_F(CallbacksTest, JSONWriterListsEveryEpoch) {
  Trainer trainer;
  run(trainer,
      {CallbackFactory(
          {.trigger_epoch =
               [&](Trainer& t) { t.monitors().put_scalar("a", t.epoch_num() == 2 ? std::nan("") : t.epoch_num()); }})},
      {JSONWriter()});
  const nlohmann::json list = nlohmann::json::parse(read_file(directory + "/stats.json"));
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].at("a"), 1);
  EXPECT_EQ(list[1].at("a"), "nan");
  EXPECT_EQ(list[2].at("epoch_num"), 3);
  EXPECT_EQ(list[2].at("global_step"), 6);
}

TEST_F(CallbacksTest, ScalarPrinterLogsWhatWasPut) {
  std::string text;
  const LogRedirect redirect([&](LogLevel, std::string_view line) { text += std::string(line) + "\n"; },
                             LogLevel::info);
  Trainer trainer;
  run(trainer,
      {CallbackFactory({.trigger_epoch =
                            [&](Trainer& t) {
                              t.monitors().put_scalar("b", 0.123456);
                              t.monitors().put_scalar("a", t.epoch_num());
                            }})},
      {ScalarPrinter({.only = "a|b"})});
  EXPECT_TRUE(text.starts_with("a: 1\nb: 0.12346\na: 2\n")) << text;
}

TEST_F(CallbacksTest, AProgressBarWritesALineAnEpochToAFile) {
  std::FILE* file = std::tmpfile();
  Trainer trainer;
  identity(counted, "shown");
  run(trainer, {ProgressBar({.names = {"shown"}, .stream = file})});
  std::rewind(file);
  char line[200];
  ASSERT_NE(std::fgets(line, sizeof line, file), nullptr);
  EXPECT_TRUE(std::string(line).starts_with("epoch 1 2/2")) << line;
  EXPECT_TRUE(contains(line, "shown 2")) << line;
  std::fclose(file);
}

TEST_F(CallbacksTest, InferenceRunsOverOnePassOfItsOwnData) {
  std::vector<DataPoint> data;
  for (int i = 0; i < 5; ++i) data.push_back({Array(static_cast<float>(i))});
  const auto train = from_list(data), test = from_list(data);
  SimpleTrainer trainer;
  trainer.setup_graph(
      {{"x", f32, {kAny}}}, QueueInput(train | batch(2)),
      [](const Inputs& in) {
        const Tensor w = get_variable("w", {.initializer = [](const Shape&, DType) { return constant(1.f); }});
        cast(greater(in["x"], 2.5f), f32, "wrong");
        return reduce_mean(in["x"] * w, "cost");
      },
      [] { return sgd({.learning_rate = 0.f}); });
  run(trainer,
      {InferenceRunner(test | batch(2, Remainder::keep), {ScalarStats("cost"), ClassificationError("wrong")})});
  EXPECT_EQ(values(trainer, "validation_cost"), std::vector<double>(3, (0.5 + 2.5 + 4) / 3));
  EXPECT_EQ(values(trainer, "validation_error"), std::vector<double>(3, 2. / 5));
  EXPECT_EQ(trainer.global_step(), 6);  // inference is no step
}

TEST_F(CallbacksTest, InferenceNeedsATowerFunctionAndRightNames) {
  Trainer plain;
  const auto data = from_list({{Array(1.f)}});
  EXPECT_TRUE(contains(error_of([&] { run(plain, {InferenceRunner(data, {ScalarStats("cost")})}); }),
                       "[InferenceRunner] expected a TowerTrainer"));
  EXPECT_TRUE(contains(error_of([&] { InferenceRunner(data, {}); }), "expected inferencers, got none"));
}

}  // namespace
}  // namespace belfry
