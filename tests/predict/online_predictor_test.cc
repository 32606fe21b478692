// Predictors of a trainer: what they compute with, and when.
#include "belfry/predict/online_predictor.h"

#include <gtest/gtest.h>

#include "belfry/dataflow/sources/list.h"
#include "belfry/input/flow_inputs.h"
#include "belfry/loop/run_op.h"
#include "belfry/nn/layers.h"
#include "belfry/ops/reduce.h"
#include "belfry/train/trainers.h"
#include "tests/session/session_testing.h"

namespace belfry {
namespace {

// y = w x + 1, where w is 2 and each step takes 1 off.
class OnlinePredictorTest : public testing_support::GraphTest {
 protected:
  SimpleTrainer trainer;
  void SetUp() override {
    trainer.setup_graph(
        {{"x", f32, {kAny}}, {"target", f32, {}}},
        QueueInput(from_list({{Array::full(f32, {1}, 1), Array(0.f)}}), {.name = "queue"}),
        [](const Inputs& in) {
          const Tensor w = get_variable("w", {.initializer = [](const Shape&, DType) { return constant(2.f); }});
          const Tensor hidden = multiply(in["x"], w, "hidden");
          const Tensor kept = hidden | dropout("drop", 0.5);
          add(kept, 1.f, "output");
          return subtract(reduce_mean(hidden), in["target"], "cost");
        },
        [] { return sgd({.learning_rate = 1.f}); });
  }
  static double predict(const OnlinePredictor& predictor, float x) {
    return predictor({Array::full(f32, {1}, x)})[0].item();
  }
};

TEST_F(OnlinePredictorTest, FollowsTrainingWithoutTakingItsData) {
  const OnlinePredictor predictor = trainer.get_predictor({"x"}, {"output"});
  std::vector<double> seen;
  const auto note = [&](Trainer&) { seen.push_back(predict(predictor, 3)); };
  trainer.train({.callbacks = {CallbackFactory({.before_train = note, .trigger_step = note})},
                 .steps_per_epoch = 2,
                 .max_epoch = 1});
  EXPECT_EQ(seen, (std::vector<double>{7, 4, 1}));  // w is 2, 1, 0; nothing is dropped
  EXPECT_EQ(trainer.global_step(), 2);
  EXPECT_TRUE(contains(trainer.callbacks()[0]->state(), "\"round\":1"));  // two points, not five
}

TEST_F(OnlinePredictorTest, AnInputMayBeAnyTensorOfTheTower) {
  const OnlinePredictor whole = trainer.get_predictor({"x"}, {"hidden", "output"});
  const OnlinePredictor end = trainer.get_predictor({"hidden"}, {"output"});
  EXPECT_EQ(trainer.towers().inference().size(), 1u);  // both use one tower
  trainer.setup_callbacks({});
  trainer.initialize();
  EXPECT_EQ(whole({Array::full(f32, {1}, 3)})[1].item(), 7);
  EXPECT_EQ(predict(end, 10), 11);
}

TEST_F(OnlinePredictorTest, CallbacksAskForItWhileTheGraphIsDefined) {
  OnlinePredictor predictor;
  double at_end = 0;
  trainer.train({.callbacks = {CallbackFactory(
                     {.setup_graph = [&](Trainer&) { predictor = trainer.get_predictor({"x"}, {"output"}); },
                      .after_train = [&](Trainer&) { at_end = predict(predictor, 1); }})},
                 .steps_per_epoch = 1,
                 .max_epoch = 1});
  EXPECT_EQ(at_end, 2);
  EXPECT_EQ(error_of([&] { trainer.get_predictor({"x"}, {"hidden"}, 0); }), "no error");  // the tower is there
}

TEST_F(OnlinePredictorTest, MistakesAreNamed) {
  EXPECT_TRUE(
      contains(error_of([] { OnlinePredictor()({}); }), "[predictor] expected one from get_predictor(), got an empty"));
  const OnlinePredictor predictor = trainer.get_predictor({"x"}, {"output"});
  EXPECT_TRUE(contains(error_of([&] { trainer.get_predictor({"x"}, {"outputs"}); }), "outputs"));
  EXPECT_TRUE(contains(error_of([&] { predict(predictor, 1); }),
                       "[Trainer::session] expected to be called after initialize()"));
  trainer.setup_callbacks({});
  trainer.initialize();
  EXPECT_TRUE(contains(error_of([&] { predictor({}); }), "[predictor] expected 1 inputs, got 0"));
  const std::string text = error_of([&] { predictor({Array(1.f)}); });
  EXPECT_TRUE(text.starts_with("[predictor] expected f32 [?] for input 'x', got f32 [] (at online_predictor_test.cc:"))
      << text;
  EXPECT_EQ(predict(predictor, 1), 3);  // still usable
}

TEST_F(OnlinePredictorTest, AnOutputThatNeedsAnotherInputIsAnErrorWhenItIsAskedFor) {
  const std::string line = std::to_string(__LINE__ + 1);
  const std::string text = error_of([&] { trainer.get_predictor({"x"}, {"output", "cost"}); });
  EXPECT_EQ(text,
            "[get_predictor] expected inputs that 'cost' can be computed from, got 'x' without 'target' (at "
            "online_predictor_test.cc:" +
                line + "). Add it, or ask for an output that does not need it.");
  EXPECT_EQ(error_of([&] { trainer.get_predictor({"x", "target"}, {"cost"}); }), "no error");
}

TEST(OnlinePredictorLateTest, ATowerCannotBeBuiltOnceTrainingHasBegun) {
  Graph graph;
  const GraphScope scope(graph);
  SimpleTrainer trainer;
  trainer.setup_graph(
      {{"x", f32, {}}}, QueueInput(from_list({{Array(1.f)}})),
      [](const Inputs& in) {
        return in["x"] * get_variable("w", {.initializer = [](const Shape&, DType) { return constant(2.f); }});
      },
      [] { return sgd({.learning_rate = 1.f}); });
  trainer.setup_callbacks({});
  trainer.initialize();
  EXPECT_TRUE(error_of([&] {
                trainer.get_predictor({"x"}, {"x"});
              }).starts_with("[get_predictor] expected to be called before initialize(), got a call after."));
}

}  // namespace
}  // namespace belfry
