// Inference on a validation set: what it reads, what it gives, what it leaves alone.
#include "belfry/callbacks/inference_runner.h"

#include <gtest/gtest.h>

#include <atomic>

#include "belfry/callbacks/model_saver.h"
#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/repeat.h"
#include "belfry/dataflow/sources/list.h"
#include "belfry/input/flow_inputs.h"
#include "belfry/input/graph_inputs.h"
#include "belfry/loop/triggers.h"
#include "belfry/ops/reduce.h"
#include "belfry/tower/tower_context.h"
#include "belfry/train/trainers.h"
#include "tests/callbacks/callbacks_testing.h"

namespace belfry {
namespace {

// The points 0, 1, ..., 4.
Flow five() {
  std::vector<DataPoint> data;
  for (int i = 0; i < 5; ++i) data.push_back({Array(static_cast<float>(i))});
  return from_list(std::move(data));
}

class InferenceRunnerTest : public testing_support::CallbacksTest {
 protected:
  SimpleTrainer trainer;
  void SetUp() override {
    trainer.setup_graph(
        {{"x", f32, {kAny}}}, QueueInput(five() | batch(2)),
        [](const Inputs& in) {
          const Tensor w = get_variable("w", {.initializer = [](const Shape&, DType) { return constant(1.f); }});
          cast(greater(in["x"], 2.5f), f32, "wrong");
          return reduce_mean(in["x"] * w, "cost");
        },
        [] { return sgd({.learning_rate = 0.f}); });
  }
  static const Inferencers& cost() {
    static const Inferencers list{ScalarStats("cost")};
    return list;
  }
};

TEST_F(InferenceRunnerTest, RunsOverOnePassOfItsOwnData) {
  run(trainer,
      {InferenceRunner(five() | batch(2, Remainder::keep), {ScalarStats("cost"), ClassificationError("wrong")})});
  EXPECT_EQ(values(trainer, "validation_cost"), std::vector<double>(3, (0.5 + 2.5 + 4) / 3));
  EXPECT_EQ(values(trainer, "validation_error"), std::vector<double>(3, 2. / 5));
  EXPECT_EQ(trainer.global_step(), 6);  // inference is no step
}

TEST_F(InferenceRunnerTest, InputsOfEveryKindCanBeRead) {
  run(trainer,
      {InferenceRunner(FeedInput(five() | batch(2, Remainder::keep), {.infinite = false}),
                       {ScalarStats("cost", "feed")}),
       InferenceRunner(BatchQueueInput(five(), 2, {.infinite = false}), {ScalarStats("cost", "batch")}),
       InferenceRunner(QueueInput(five() | batch(2)), {ScalarStats("cost", "endless")}),  // its size ends the pass
       InferenceRunner(TensorInput([] { return Tensors{constant(Array::full(f32, {2}, 7))}; }, 3),
                       {ScalarStats(std::vector<std::string>{"cost"}, "")})});
  EXPECT_EQ(values(trainer, "feed_cost"), std::vector<double>(3, (0.5 + 2.5 + 4) / 3));
  EXPECT_EQ(values(trainer, "batch_cost"), std::vector<double>(3, (0.5 + 2.5 + 4) / 3));
  EXPECT_EQ(values(trainer, "endless_cost"), std::vector<double>(3, (0.5 + 2.5) / 2));
  EXPECT_EQ(values(trainer, "cost"), std::vector<double>(3, 7));
}

TEST_F(InferenceRunnerTest, TheInputIsMadeInTheTower) {
  std::string tower;
  const auto make = [&] {
    tower = get_current_tower_context().name();
    EXPECT_FALSE(get_current_tower_context().is_training());
    const Tensor w = get_variable("w", {});  // the model's
    return Tensors{fill({2}, 7) * w};
  };
  run(trainer, {InferenceRunner(TensorInput(make, 3), cost())});
  EXPECT_EQ(tower, "inference_tower");
  EXPECT_EQ(values(trainer, "validation_cost"), std::vector<double>(3, 7));
}

TEST_F(InferenceRunnerTest, NothingIsReadBeforeItIsNeeded) {
  std::atomic<int> reads = 0;
  const Flow flow = five() | map([&](DataPoint point) {
                      ++reads;
                      return point;
                    });
  int before = -1;
  run(trainer, {InferenceRunner(flow | batch(1), cost()), CallbackFactory({.after_epoch = [&](Trainer& t) {
                  if (t.epoch_num() == 1) before = reads;
                }})});
  EXPECT_EQ(before, 0);
  EXPECT_EQ(reads, 15);  // three passes of five
}

TEST_F(InferenceRunnerTest, ItsOwnPeriodAndPlaceBeforeTraining) {
  run(trainer,
      {PeriodicTrigger(InferenceRunner(five() | batch(5), cost()), {.every_k_epochs = 2, .before_train = true})});
  EXPECT_EQ(trainer.monitors().history("validation_cost"), (std::vector<Monitors::Entry>{{0, 2}, {4, 2}}));
}

TEST_F(InferenceRunnerTest, ARequestToStopEndsAPassThatMayHaveNoEnd) {
  const Flow flow =
      five() | repeat(1'000'000) | map([this, n = 0](DataPoint point) mutable -> std::optional<DataPoint> {
        if (++n == 100) trainer.request_stop("that is no pass");
        return point;
      });
  EXPECT_EQ(trainer.train({.callbacks = {InferenceRunner(flow | batch(1), cost()), MinSaver("validation_cost")},
                           .steps_per_epoch = 2,
                           .max_epoch = 3}),
            "that is no pass");
  EXPECT_TRUE(values(trainer, "validation_cost").empty());
}

TEST_F(InferenceRunnerTest, AFailureInItsDataIsAnErrorNotAnEnd) {
  const Flow broken = five() | map([](const DataPoint& point) -> DataPoint {
                        if (point[0].item() == 3) throw FileError("[disk] expected a page, got none.");
                        return point;
                      });
  EXPECT_THROW(run(trainer, {InferenceRunner(broken | batch(1), cost())}), FileError);
}

TEST_F(InferenceRunnerTest, MistakesAreNamed) {
  EXPECT_TRUE(contains(error_of([&] { InferenceRunner(five(), {}); }), "expected inferencers, got none"));
  EXPECT_EQ(error_of([&] { InferenceRunner(StagingInput(QueueInput(five())), cost()); }),
            "[InferenceRunner] expected an input that can start again, got a StagingInput, which is for training. Use "
            "the input inside it.");
  EXPECT_EQ(error_of([&] { InferenceRunner(PlaceholderInput(), cost()); }),
            "[InferenceRunner] expected an input that ends, got PlaceholderInput, which has no end and no size. Use "
            ".infinite = false and a flow that ends, or a size.");
  EXPECT_EQ(error_of([&] { InferenceRunner(five() | repeat() | batch(2), cost()); }),
            "[InferenceRunner] expected an input that ends, got QueueInput, which has no end and no size. Use "
            ".infinite = false and a flow that ends, or a size.");
  EXPECT_TRUE(contains(error_of([&] {
                         run(trainer,
                             {InferenceRunner(five() | batch(1), {ScalarStats("cosd")}, {.tower_name = "val"})});
                       }),
                       "cosd"));
}

TEST_F(InferenceRunnerTest, AVectorIsNoScalarAndAScalarNoVector) {
  EXPECT_TRUE(contains(error_of([&] { run(trainer, {InferenceRunner(five() | batch(2), {ScalarStats("wrong")})}); }),
                       "[ScalarStats] expected 'wrong' to be a scalar, got [2]."));
  ClassificationError error("wrong");
  EXPECT_TRUE(contains(error_of([&] { error.on_fetches({Array(1.f)}); }),
                       "[ClassificationError] expected 'wrong' to be a vector"));
}

TEST_F(InferenceRunnerTest, ATowerNameIsTakenOnce) {
  const InferenceRunnerOptions named{.tower_name = "val"};
  EXPECT_EQ(error_of([&] {
              run(trainer, {InferenceRunner(five() | batch(1), cost(), named),
                            InferenceRunner(five() | batch(1), cost(), named)});
            }),
            "[InferenceRunner] expected a tower name that is not taken, got 'val'. Choose another tower_name.");
}

TEST_F(InferenceRunnerTest, ItsDeviceIsOneOfTheTrainers) {
  EXPECT_EQ(error_of([&] { run(trainer, {InferenceRunner(five() | batch(1), cost(), {.device = 1})}); }),
            "[InferenceRunner] expected a device from 0 to 0, got 1. Inference runs where a tower trains.");
}

TEST_F(InferenceRunnerTest, NeedsATowerFunction) {
  Trainer plain;
  EXPECT_TRUE(contains(error_of([&] { run(plain, {InferenceRunner(five(), cost())}); }),
                       "[InferenceRunner] expected a TowerTrainer"));
}

}  // namespace
}  // namespace belfry
