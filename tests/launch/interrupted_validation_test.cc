// Ctrl-C while a validation runs.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "belfry/base/log.h"
#include "belfry/base/mutex.h"
#include "belfry/callbacks/inference_runner.h"
#include "belfry/callbacks/model_saver.h"
#include "belfry/dataflow/dataflow.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/repeat.h"
#include "belfry/loop/run_op.h"
#include "belfry/session/checkpoint.h"
#include "tests/launch/launch_testing.h"

namespace belfry {
namespace {

// One point, and then none for ever. Whoever waits for the second one finds a signal on its way.
class Stalled final : public DataFlow {
 public:
  void start_epoch(std::uint64_t) override {}
  std::optional<DataPoint> next() override {
    if (!std::exchange(begun_, true)) return DataPoint{Array::full(f32, {2, 4}, 1), Array::full(i32, {2}, 1)};
    ::kill(::getpid(), SIGINT);
    const MutexLock lock(mutex_);
    while (!cancelled_) changed_.wait(mutex_);
    throw Cancelled("[stalled] the wait was cancelled");
  }
  std::uint64_t epoch() const override { return 0; }
  std::optional<std::int64_t> size() const override { return 2; }
  std::string describe() const override { return "stalled"; }
  void cancel() override {
    const MutexLock lock(mutex_);
    cancelled_ = true;
    changed_.notify_all();
  }
  FlowState state() const override { return {"stalled", {}, {}}; }
  void restore(const FlowState&) override {}

 private:
  bool begun_ = false;
  Mutex mutex_;
  Condition changed_;
  bool cancelled_ BELFRY_GUARDED_BY(mutex_) = false;
};

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
  expect_interrupted(InferenceRunner(Flow(std::make_shared<Stalled>()), {ScalarStats("cost")}));
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
