#include "belfry/nn/ema_of_weights.h"

#include <cmath>

#include "tests/nn/nn_test_support.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

// d cost / dw = 1: with a rate of 1, w is 10, 9, 8, ...
class EmaOfWeightsTest : public NnTest {
 protected:
  Variable w = get_variable("fc/W", {.shape = {3}, .initializer = init::constant(10)});
  static std::unique_ptr<Optimizer> plain() { return sgd({.learning_rate = 1.f}); }
  Tensor cost() { return reduce_sum(w); }
};

TEST_F(EmaOfWeightsTest, FollowsEachUpdateInTheSameOperation) {
  const Operation train = ema_of_weights(plain(), {.decay = 0.75})->minimize(cost());
  EXPECT_EQ(train.name(), "EMA");
  EXPECT_EQ(in(collection::kGlobalVariables), (Names{"fc/W", "fc/W/EMA"}));
  EXPECT_EQ(in(collection::kTrainableVariables), Names{"fc/W"});
  Session session(graph);
  session.initialize();
  double weight = 10, average = 10;
  EXPECT_EQ(session.value(variable("fc/W/EMA")).item(), average);
  for (int i = 0; i < 5; ++i) {
    session.run(train);
    weight -= 1;
    average -= 0.25 * (average - weight);
    EXPECT_EQ(session.value(w).item(2), weight);
    EXPECT_NEAR(session.value(variable("fc/W/EMA")).item(2), average, 1e-5) << i;
  }
}

TEST_F(EmaOfWeightsTest, WarmUpForgetsTheStartSoon) {
  const Operation train = ema_of_weights(plain(), {.decay = 0.3, .warm_up = true})->minimize(cost(), "train");
  EXPECT_EQ(train.name(), "train");
  Session session(graph);
  session.initialize();
  double weight = 10, average = 10;
  for (int n = 0; n < 6; ++n) {
    session.run(train);
    weight -= 1;
    average -= (1 - std::min(0.3, (1. + n) / (10. + n))) * (average - weight);
    EXPECT_NEAR(session.value(variable("fc/W/EMA")).item(), average, 1e-5) << n;
  }
  EXPECT_EQ(session.value(variable("EMA/updates")).item(), 6);
}

TEST_F(EmaOfWeightsTest, AnInferenceTowerInTheirScopeReadsTheAverages) {
  Graph graph;
  const GraphScope scope(graph);
  const Tensor x = placeholder(f32, {kAny, 3});
  const auto model = [&] { return x | batch_norm("bn") | fully_connected("fc", {.units = 1}); };
  Operation train;
  {
    const TrainTowerContext tower("");
    train = ema_of_weights(plain(), {.decay = 0.5})->minimize(reduce_mean(square(model())));
  }
  Tensor with_weights, with_averages;
  {
    const PredictTowerContext tower("predict");
    with_weights = model();
  }
  {
    const PredictTowerContext tower("predict_average");
    const auto averages = use_ema_of_weights();
    with_averages = model();
  }
  Session session(graph);
  session.initialize();
  const Feeds feeds{{x, Array::of<float>({2, 3}, {1, 2, 4, 3, -4, 5})}};
  for (int i = 0; i < 3; ++i) session.run(train, feeds);
  const double before = session.run(with_averages, feeds).item();
  EXPECT_NE(session.run(with_weights, feeds).item(), before);
  for (const char* name : {"bn/gamma", "bn/beta", "fc/W", "fc/b"})  // by hand: the averages as weights
    session.set_value(graph.get_variable_by_name(name),
                      session.value(graph.get_variable_by_name(std::string(name) + "/EMA")));
  EXPECT_EQ(session.run(with_weights, feeds).item(), before);
}

TEST_F(EmaOfWeightsTest, ACheckpointLoadsIntoAnInferenceGraphByItsAverages) {
  const testing_support::TempDir directory;
  const Operation train = ema_of_weights(momentum({.learning_rate = 1.f}), {.decay = 0.5})->minimize(cost());
  double average = 0;
  {
    Session session(graph);
    session.initialize();
    for (int i = 0; i < 3; ++i) session.run(train);
    average = session.value(variable("fc/W/EMA")).item();
    EXPECT_NE(session.value(w).item(), average);
    Saver saver(session, {.directory = directory.path()});
    saver.save(3);
  }
  Graph inference;
  const GraphScope scope(inference);
  const Variable weight = get_variable("fc/W", {.shape = {3}});
  Session session(inference);
  session.initialize();
  const InitReport report = SaverRestore(directory.path(), {.prefer = "EMA"}).init(session);
  EXPECT_EQ(report.restored, Names{"fc/W"});
  EXPECT_EQ(report.of_the_run, Names{"fc/W/Momentum/accumulator"});
  EXPECT_TRUE(report.unexpected.empty());
  EXPECT_EQ(session.value(weight).item(), average);
  export_model(session, directory / "model.npz");
  EXPECT_EQ(read_npz(directory / "model.npz").at("fc/W").item(), average);
}

// What inference with averages reads in another program is the averages, not copies of the weights.
TEST_F(EmaOfWeightsTest, TheAveragesArePartOfTheModel) {
  const testing_support::TempDir directory;
  const Operation train = ema_of_weights(plain(), {.decay = 0.5})->minimize(cost());
  Session first(graph), second(graph);
  first.initialize();
  for (int i = 0; i < 3; ++i) first.run(train);
  {
    Saver(first, {.directory = directory.path()}).save(3);
  }
  const double average = first.value(variable("fc/W/EMA")).item();
  EXPECT_NE(first.value(w).item(), average);
  second.initialize();
  SaverRestore(directory.path()).init(second);
  EXPECT_EQ(second.value(variable("fc/W/EMA")).item(), average);
}

TEST_F(EmaOfWeightsTest, RestoringByAveragesIntoATrainingGraphSetsBoth) {
  ema_of_weights(plain())->minimize(cost());
  Session session(graph);
  session.initialize();
  const Array five = Array::full(f32, {3}, 5);
  DictRestore({{"fc/W", Array::zeros(f32, {3})}, {"fc/W/EMA", five}}, {.prefer = "EMA", .strict = true}).init(session);
  EXPECT_EQ(session.value(w).item(), 5);
  EXPECT_EQ(session.value(variable("fc/W/EMA")).item(), 5);
}

TEST_F(EmaOfWeightsTest, AroundAccumulationItFollowsInEveryStepInsideInEveryUpdate) {
  const Variable other = get_variable("other", {.shape = {1}, .initializer = init::constant(10)});
  const Operation inside = accumulate_gradients(ema_of_weights(plain(), {.decay = 0.5}), 2)->minimize(cost(), {w});
  const Operation outside =
      ema_of_weights(accumulate_gradients(plain(), 2), {.decay = 0.5})->minimize(reduce_sum(other), {other});
  Session session(graph);
  session.initialize();
  for (int i = 0; i < 3; ++i) session.run({inside, outside});
  EXPECT_EQ(session.value(variable("fc/W/EMA")).item(), 9.5);
  EXPECT_EQ(session.value(variable("other/EMA")).item(), 9.25);  // once more towards 9
}

TEST_F(EmaOfWeightsTest, MistakesAreSaid) {
  EXPECT_EQ(error_of([&] {
              ema_of_weights(adam(), {.decay = 1});
            }).find("[ema_of_weights] expected decay in [0, 1), got 1 (at ema_of_weights_test.cc:"),
            0u);
  EXPECT_EQ(error_of([&] { ema_of_weights(nullptr); }).find("[ema_of_weights] expected an optimizer, got none (at "),
            0u);
  EXPECT_EQ(error_of([&] {
              const auto scope = use_ema_of_weights();
            }).find("[use_ema_of_weights] expected moving averages of weights in the graph, got none (at ema_of_"),
            0u);
}

}  // namespace
}  // namespace belfry
