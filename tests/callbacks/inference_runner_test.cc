// Inference on a validation set: what it reads, what it gives, what it leaves alone.
#include "belfry/callbacks/inference_runner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "belfry/callbacks/model_saver.h"
#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/map.h"
#include "belfry/dataflow/repeat.h"
#include "belfry/dataflow/sources/list.h"
#include "belfry/dataflow/stage_flow.h"
#include "belfry/input/flow_inputs.h"
#include "belfry/input/graph_inputs.h"
#include "belfry/loop/triggers.h"
#include "belfry/ops/reduce.h"
#include "belfry/tower/tower_context.h"
#include "belfry/train/trainers.h"
#include "tests/callbacks/callbacks_testing.h"
#include "tests/support/stalled_flow.h"

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
  void SetUp() override { set_up(trainer); }
  static void set_up(SimpleTrainer& trainer) {
    trainer.setup_graph(
        {{"x", f32, {kAny}}}, QueueInput(five() | batch(2)),
        [](const Inputs& in) {
          const Tensor w = get_variable("w", {.initializer = [](const Shape&, DType) { return constant(1.f); }});
          cast(greater(in["x"], 2.5f), f32, "wrong");
          multiply(in["x"], 2.f, "double");
          return reduce_mean(in["x"] * w, "cost");
        },
        [] { return sgd({.learning_rate = 0.f}); });
  }
  static const Inferencers& cost() {
    static const Inferencers list{ScalarStats("cost")};
    return list;
  }
};

TEST(ScalarStats, TakesOneNameOrANumberOfThemInBraces) {
  using Names = std::vector<std::string>;
  const std::string cost = "cost", error = "error";
  EXPECT_EQ(ScalarStats("cost").metrics(), (Names{"validation_cost"}));
  EXPECT_EQ(ScalarStats({"cost"}).metrics(), (Names{"validation_cost"}));
  EXPECT_EQ(ScalarStats({"cost", "error"}).metrics(), (Names{"validation_cost", "validation_error"}));
  EXPECT_EQ(ScalarStats({"cost", "error"}, "test").metrics(), (Names{"test_cost", "test_error"}));
  EXPECT_EQ(ScalarStats({"a", "b", "c"}, "").metrics(), (Names{"a", "b", "c"}));
  EXPECT_EQ(ScalarStats({cost, error}).metrics(), (Names{"validation_cost", "validation_error"}));
  EXPECT_EQ(ScalarStats(Names{cost, error}).metrics(), (Names{"validation_cost", "validation_error"}));
  EXPECT_EQ((ScalarStats{"cost", "test"}.metrics()), (Names{"test_cost"}));  // a name and a prefix
}

TEST_F(InferenceRunnerTest, RunsOverOnePassOfItsOwnData) {
  run(trainer,
      {InferenceRunner(five() | batch(2, Remainder::keep), {ScalarStats("cost"), ClassificationError("wrong")})});
  EXPECT_EQ(values(trainer, "validation_cost"), std::vector<double>(3, (0.5 + 2.5 + 4) / 3));
  EXPECT_EQ(values(trainer, "validation_error"), std::vector<double>(3, 2. / 5));
  EXPECT_EQ(trainer.global_step(), 6);  // inference is no step
}

TEST_F(InferenceRunnerTest, ExamplesOfASmallerLastBatchCountLikeOthers) {
  run(trainer, {InferenceRunner(five() | batch(2, Remainder::keep), {ExampleStats({"wrong", "double"}, "test")})});
  EXPECT_EQ(values(trainer, "test_wrong"), std::vector<double>(3, 2. / 5));
  EXPECT_EQ(values(trainer, "test_double"), std::vector<double>(3, 4));  // 0 to 8; by batches it would be 4.67
}

TEST_F(InferenceRunnerTest, InputsOfEveryKindCanBeRead) {
  run(trainer,
      {InferenceRunner(FeedInput(five() | batch(2, Remainder::keep), {.infinite = false}),
                       {ScalarStats("cost", "feed")}),
       InferenceRunner(BatchQueueInput(five(), 2, {.infinite = false}), {ScalarStats("cost", "batch")}),
       InferenceRunner(QueueInput(five() | batch(2)), {ScalarStats("cost", "endless")}),  // its size ends the pass
       InferenceRunner(TensorInput([] { return Tensors{constant(Array::full(f32, {2}, 7))}; }, 3),
                       {ScalarStats({"cost"}, "")})});
  EXPECT_EQ(values(trainer, "feed_cost"), std::vector<double>(3, (0.5 + 2.5 + 4) / 3));
  EXPECT_EQ(values(trainer, "batch_cost"), std::vector<double>(3, (0.5 + 2.5 + 4) / 3));
  EXPECT_EQ(values(trainer, "endless_cost"), std::vector<double>(3, (0.5 + 2.5) / 2));
  EXPECT_EQ(values(trainer, "cost"), std::vector<double>(3, 7));
}

// As a model does that keeps its tensors in members: the last tower's are the runner's.
TEST_F(InferenceRunnerTest, ItsTensorsInAnotherRunAreAnErrorNotAWaitWithoutEnd) {
  const auto text_of_a_run = [&](const RunOpOptions& options) {
    const testing_support::LogLines log;
    Graph graph;
    const GraphScope scope(graph);
    SimpleTrainer trainer;
    set_up(trainer);
    const auto its_cost = [&] { return Operation(trainer.towers()["inference_tower"].get_tensor("cost")); };
    return error_of([&] { run(trainer, {InferenceRunner(five() | batch(2), cost()), RunOp(its_cost, options)}); });
  };
  const std::string expected =
      "[InferenceRunner 'inference_tower'] expected only its own runs to fetch what takes points from its input, got "
      "'inference_tower/cost' fetched in another run, while nothing fills the queue "
      "'inference_tower_inputs/input_queue' (called at ";
  const std::string remedy =
      "). Fetch the training tower's tensor: by name, or, if the tower function stores it, store only that one: if "
      "(get_current_tower_context().is_training()) cost_ = cost.";
  for (const RunOpOptions& options : {RunOpOptions{.as_trigger = false},
                                      {.before_train = false, .as_trigger = false, .along_with_step = true},
                                      {.before_train = false}}) {
    const std::string text = text_of_a_run(options);
    EXPECT_TRUE(text.starts_with(expected)) << text;
    EXPECT_TRUE(text.ends_with(remedy)) << text;
  }
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

// Five points that say they are six.
class ShortFlow final : public StageFlow {
 public:
  ShortFlow() : StageFlow(five() | batch(1), "short", "short") {}
  std::optional<DataPoint> next() override { return source().next(); }
  std::optional<std::int64_t> size() const override { return 6; }
};

TEST_F(InferenceRunnerTest, AFlowThatEndsBeforeItsSizeIsAnError) {
  EXPECT_EQ(error_of([&] { run(trainer, {InferenceRunner(Flow(std::make_shared<ShortFlow>()), cost())}); }),
            "[InferenceRunner] expected 6 points in a pass of QueueInput, as its size() says, got 5: the numbers would "
            "be for a part of the data only. Correct the size of the flow, or give it none.");
  EXPECT_TRUE(values(trainer, "validation_cost").empty());
}

TEST_F(InferenceRunnerTest, OnlyTheFirstPointIsReadBeforeItIsNeededAndItIsUsed) {
  std::atomic<int> reads = 0;
  const auto flow = [&] {
    return five() | map([&](DataPoint point) {
             ++reads;
             return point;
           }) |
           batch(1);
  };
  for (const bool queue : {true, false}) {
    for (const bool checked : {true, false}) {
      Graph own;
      const GraphScope inside(own);
      SimpleTrainer trainer;
      set_up(trainer);
      reads = 0;
      int before = -1;
      const InputSourcePtr input = queue ? InputSourcePtr(QueueInput(flow(), {.infinite = false}))
                                         : InputSourcePtr(FeedInput(flow(), {.infinite = false}));
      run(trainer, {InferenceRunner(input, cost(), {.check_first_point = checked}),
                    CallbackFactory({.after_epoch = [&](Trainer& t) {
                      if (t.epoch_num() == 1) before = reads;
                    }})});
      EXPECT_EQ(before, checked ? 1 : 0);
      EXPECT_EQ(reads, 15);  // three passes of five
      EXPECT_EQ(values(trainer, "validation_cost"), std::vector<double>(3, 2));
    }
  }
}

TEST_F(InferenceRunnerTest, ItsFirstPointIsMatchedWithTheSignatureBeforeTheFirstStep) {
  const std::string text = error_of([&] { run(trainer, {InferenceRunner(five(), cost())}); });
  EXPECT_TRUE(text.starts_with(
      "[InferenceRunner 'inference_tower': QueueInput] input 'x' expects f32 [?], the flow's component "
      "0 is f32 []. Batch the flow: flow | batch(32) (at "))
      << text;
  EXPECT_EQ(trainer.global_step(), 0);
}

TEST_F(InferenceRunnerTest, AFailureOfItsFirstPointIsWhatIsThrown) {
  const Flow broken = five() | map([](const DataPoint&) -> DataPoint { throw FileError("[disk] no such page."); });
  EXPECT_TRUE(error_of<FileError>([&] {
                run(trainer, {InferenceRunner(broken | batch(1), cost())});
              }).ends_with("[disk] no such page."));
  EXPECT_EQ(trainer.global_step(), 0);
}

TEST_F(InferenceRunnerTest, ARequestToStopEndsTheWaitForItsFirstPoint) {
  std::promise<void> waits;
  const Flow flow = std::make_shared<testing_support::StalledFlow>(
      testing_support::StalledOptions{.on_wait = [&] { waits.set_value(); }});
  std::thread other([&] {
    waits.get_future().wait();
    trainer.request_stop("waited enough");
  });
  run(trainer, {InferenceRunner(flow, cost())});
  other.join();
  EXPECT_EQ(trainer.global_step(), 0);
}

TEST_F(InferenceRunnerTest, AnEmptyFlowIsAnErrorBeforeTheFirstStep) {
  const std::string text = error_of([&] { run(trainer, {InferenceRunner(five() | batch(6), cost())}); });
  EXPECT_TRUE(text.starts_with(
      "[InferenceRunner 'inference_tower': QueueInput] expected a flow with points, got an empty one (at "))
      << text;
  EXPECT_TRUE(text.ends_with("batch() omits a last batch that is not full, unless given Remainder::keep."));
  EXPECT_EQ(trainer.global_step(), 0);
}

TEST_F(InferenceRunnerTest, TwoThatPutOneNameAreAnErrorBeforeTheFirstStep) {
  EXPECT_EQ(error_of([&] {
              run(trainer, {InferenceRunner(five() | batch(1), cost()),
                            PeriodicTrigger(InferenceRunner(five() | batch(1), cost()), {.every_k_epochs = 2})});
            }),
            "[InferenceRunner] expected metrics that no other callback puts, got 'validation_cost', which another "
            "InferenceRunner puts too. Give one of them a prefix or another name: ScalarStats(\"cost\", "
            "\"test\"), or ClassificationError(\"incorrect\", \"test_error\").");
  EXPECT_EQ(trainer.global_step(), 0);
}

TEST_F(InferenceRunnerTest, TwoInferencersOfOneRunnerThatPutOneNameAreAnErrorToo) {
  EXPECT_TRUE(contains(
      error_of([&] { run(trainer, {InferenceRunner(five() | batch(1), {ScalarStats("cost"), ScalarStats("cost")})}); }),
      "[InferenceRunner] expected each metric once, got 'validation_cost' twice. Give one of them a prefix"));
}

// One of a user's own, which does not say before what it puts.
class LastCost final : public Inferencer {
 public:
  std::vector<std::string> fetches() const override { return {"cost"}; }
  void on_fetches(const std::vector<Array>& values) override { last_ = values[0].item(); }
  std::map<std::string, double> after_inference() override { return {{"last", last_}}; }

 private:
  double last_ = 0;
};

TEST_F(InferenceRunnerTest, NamesThatAreNotDeclaredClashWhenTheyArePut) {
  EXPECT_TRUE(contains(error_of([&] {
                         run(trainer, {InferenceRunner(five() | batch(1), {LastCost()}),
                                       InferenceRunner(five() | batch(1), {LastCost()})});
                       }),
                       "got 'last', which another InferenceRunner puts too."));
  EXPECT_EQ(trainer.global_step(), 2);
}

TEST_F(InferenceRunnerTest, ASaverOfAMetricThatNobodyPutsIsAnErrorBeforeTheFirstStep) {
  EXPECT_EQ(error_of([&] {
              run(trainer, {MinSaver("validation_cosd"),
                            PeriodicTrigger(InferenceRunner(five() | batch(1), cost()), {.every_k_epochs = 2})});
            }),
            "[MinSaver] expected a metric that some callback puts, got 'validation_cosd'. Did you mean "
            "'validation_cost'? This training puts 'validation_cost'. Add the callback that puts it.");
  EXPECT_EQ(trainer.global_step(), 0);
}

TEST_F(InferenceRunnerTest, ASaverOfAMetricThatMayComeIsNoError) {
  run(trainer, {InferenceRunner(five() | batch(1), {LastCost()}), MinSaver("last")});
  EXPECT_TRUE(std::filesystem::exists(directory + "/min-last-2.safetensors"));
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

// Asking a trainer for inference towers gives an error with its name.
TEST_F(InferenceRunnerTest, ATrainerWithoutATowerFunctionHasNoInferenceTowers) {
  Graph own;
  const GraphScope inside(own);
  Trainer plain;
  EXPECT_EQ(error_of([&] { plain.setup_callbacks({InferenceRunner(five() | batch(1), cost())}); }),
            "[InferenceRunner] expected a TowerTrainer, which has a tower function, got another trainer.");
  EXPECT_EQ(error_of([&] { plain.inference_towers(); }),
            "[inference_towers] expected a TowerTrainer, which has a tower function, got another trainer.");
  Trainer& with_towers = trainer;
  EXPECT_EQ(&with_towers.inference_towers().tower_func(), &trainer.tower_func());
}

TEST_F(InferenceRunnerTest, AVectorIsNoScalarAndAScalarNoVector) {
  const auto text_for = [](Inferencers inferencers) {
    Graph own;
    const GraphScope inside(own);
    SimpleTrainer trainer;
    set_up(trainer);
    return error_of([&] { trainer.setup_callbacks({InferenceRunner(five() | batch(2), std::move(inferencers))}); });
  };
  EXPECT_EQ(
      text_for({ScalarStats("wrong")}),
      "[ScalarStats] expected 'wrong' to be a scalar, got [?]. Reduce it first, or use ExampleStats for the mean of "
      "a vector with a number for each example.");
  EXPECT_EQ(text_for({ExampleStats("cost")}),
            "[ExampleStats] expected 'cost' to be a vector with a number for each example, got []. For the mean of a "
            "scalar over the batches, use ScalarStats.");
  EXPECT_EQ(text_for({ClassificationError("cost")}),
            "[ClassificationError] expected 'cost' to be a vector with 1 for each wrong example, got []. Use "
            "prediction_incorrect().");
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
            "[InferenceRunner] expected a device among cpu:0, got cpu:1. Inference runs where a tower trains.");
}

TEST_F(InferenceRunnerTest, NeedsATowerFunction) {
  Trainer plain;
  EXPECT_TRUE(contains(error_of([&] { run(plain, {InferenceRunner(five(), cost())}); }),
                       "[InferenceRunner] expected a TowerTrainer"));
}

}  // namespace
}  // namespace belfry
