// Ctrl-C while a validation runs.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "belfry/base/log.h"
#include "belfry/callbacks/inference_runner.h"
#include "belfry/callbacks/model_saver.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/prefetch.h"
#include "belfry/dataflow/repeat.h"
#include "belfry/input/flow_inputs.h"
#include "belfry/input/graph_inputs.h"
#include "belfry/loop/run_op.h"
#include "belfry/session/checkpoint.h"
#include "tests/launch/launch_testing.h"
#include "tests/support/stalled_flow.h"

namespace belfry {
namespace {

// This many points, and then none, forever. Waiting for the next one sends a signal.
Flow stalled(int points, std::function<void()> on_cancel = {}) {
  return std::make_shared<testing_support::StalledFlow>(
      testing_support::StalledOptions{.point = {Array::full(f32, {2, 4}, 1), Array::full(i32, {2}, 1)},
                                      .points = points,
                                      .on_wait = [] { ::kill(::getpid(), SIGINT); },
                                      .on_cancel = std::move(on_cancel)});
}

class InterruptedValidationTest : public testing_support::LaunchTest {
 protected:
  // Three steps an epoch; the first validation is cut short.
  void expect_interrupted(InferenceRunner runner) {
    TrainConfig c = config();
    c.callbacks = {ModelSaver(), std::move(runner), MinSaver("validation_cost")};
    SimpleTrainer trainer;
    EXPECT_THROW(launch_train_with_config(std::move(c), trainer), Interrupted);
    EXPECT_TRUE(trainer.monitors().history("validation_cost").empty());
    const CheckpointState saved = load_checkpoint(dir.path()).state;
    EXPECT_EQ(saved.step, 3);
    EXPECT_EQ(saved.epoch, 1);
    EXPECT_TRUE(contains(logged,
                         "[signals] SIGINT: training ends, and what is not saved yet is saved. It waits for "
                         "trigger_epoch of InferenceRunner. A second signal ends the program at once."))
        << logged;
    EXPECT_TRUE(contains(logged, "this pass puts no numbers")) << logged;
  }
  std::string logged;
  const LogRedirect redirect{[this](LogLevel, std::string_view text) { (logged += text) += '\n'; }};
};

TEST_F(InterruptedValidationTest, EndsAfterTheBatchAndTheFinishedEpochIsSaved) {
  int n = 0;
  const Flow long_pass = testing_support::data(10) | batch(2) | repeat(1'000'000) | map([&](DataPoint point) {
                           if (++n == 10) ::kill(::getpid(), SIGINT);
                           return point;
                         });
  expect_interrupted(InferenceRunner(long_pass, {ScalarStats("cost")}));
  EXPECT_LT(n, 5'000'000);
}

TEST_F(InterruptedValidationTest, EndsAWaitForData) {
  expect_interrupted(InferenceRunner(stalled(1), {ScalarStats("cost")}));
}

TEST_F(InterruptedValidationTest, EndsAWaitForDataThatAreFed) {
  expect_interrupted(InferenceRunner(FeedInput(stalled(1), {.infinite = false}), {ScalarStats("cost")}));
}

// The first point is read before training.
TEST_F(InterruptedValidationTest, EndsTheWaitForItsFirstPoint) {
  const std::vector<InputSourcePtr> inputs{QueueInput(stalled(0), {.infinite = false}),
                                           QueueInput(stalled(0) | prefetch(2), {.infinite = false}),
                                           FeedInput(stalled(0), {.infinite = false}),
                                           remap_input(QueueInput(stalled(0), {.infinite = false}), {"x", "label"})};
  for (const InputSourcePtr& input : inputs) {
    Graph own;
    const GraphScope inside(own);
    logged.clear();
    TrainConfig c = config();
    c.callbacks = {InferenceRunner(input, {ScalarStats("cost")})};
    SimpleTrainer trainer;
    EXPECT_THROW(launch_train_with_config(std::move(c), trainer), Interrupted);
    EXPECT_EQ(trainer.global_step(), 0);
    EXPECT_TRUE(contains(logged, "It waits for before_train of InferenceRunner. ")) << logged;
  }
}

// What fails while training is being interrupted has failed.
TEST_F(InterruptedValidationTest, AnErrorOfTheFlowIsWhatIsThrown) {
  const auto fail = [] { throw FileError("[disk] expected a page, got none."); };
  for (const int points : {0, 1}) {
    Graph own;
    const GraphScope inside(own);
    TrainConfig c = config();
    c.callbacks = {InferenceRunner(FeedInput(stalled(points, fail), {.infinite = false}), {ScalarStats("cost")})};
    SimpleTrainer trainer;
    EXPECT_EQ(error_of<FileError>([&] { launch_train_with_config(std::move(c), trainer); }),
              "[disk] expected a page, got none.");
    EXPECT_EQ(trainer.global_step(), points == 0 ? 0 : 3);
  }
}

TEST_F(InterruptedValidationTest, AStepsWaitForDataThatAreFedEndsToo) {
  TrainConfig c = config();
  c.dataflow = {};
  c.input = FeedInput(stalled(2));
  c.callbacks = {ModelSaver()};
  SimpleTrainer trainer;
  EXPECT_THROW(launch_train_with_config(std::move(c), trainer), Interrupted);
  EXPECT_EQ(load_checkpoint(dir.path()).state.step, 2);
}

TEST_F(InterruptedValidationTest, ARequestToStopLetsThePassOfAFinishedEpochEnd) {
  TrainConfig c = config();
  c.callbacks = {CallbackFactory({.after_epoch = [](Trainer& t) { t.request_stop("enough"); }}),
                 InferenceRunner(testing_support::data() | batch(4), {ScalarStats("cost")})};
  SimpleTrainer trainer;
  EXPECT_EQ(launch_train_with_config(std::move(c), trainer), "enough");
  EXPECT_EQ(trainer.monitors().history("validation_cost").size(), 1);
}

}  // namespace
}  // namespace belfry
