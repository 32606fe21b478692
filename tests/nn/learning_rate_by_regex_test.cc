#include "belfry/nn/learning_rate_by_regex.h"

#include "tests/nn/nn_test_support.h"

namespace belfry {
namespace {

class LearningRateByRegexTest : public NnTest {
 protected:
  Variable a = get_variable("conv0/W", {.shape = {2}, .initializer = init::zeros()});
  Variable b = get_variable("conv0/b", {.shape = {2}, .initializer = init::zeros()});
  Variable c = get_variable("fc/W", {.shape = {2}, .initializer = init::zeros()});
  Tensor cost() { return reduce_sum(a) + reduce_sum(b) + reduce_sum(c); }
  void expect_after_one_step(const Operation& train, double va, double vb, double vc) {
    Session session(graph);
    session.initialize();
    session.run(train);
    EXPECT_NEAR(session.value(a).item(), va, 1e-6);
    EXPECT_NEAR(session.value(b).item(), vb, 1e-6);
    EXPECT_NEAR(session.value(c).item(), vc, 1e-6);
  }
};

TEST_F(LearningRateByRegexTest, TheFirstExpressionThatMatchesCounts) {
  const auto optimizer = learning_rate_by_regex(sgd({.learning_rate = 1.f}), {{"conv0/W", 0.25}, {"conv0/.*", 0.5}});
  EXPECT_EQ(optimizer->name(), "SGD");
  const Operation train = optimizer->minimize(cost());
  EXPECT_EQ(train.name(), "SGD");
  expect_after_one_step(train, -0.25, -0.5, -1);
}

TEST_F(LearningRateByRegexTest, AdamsStepIsScaledThoughItDoesNotDependOnTheGradientsSize) {
  expect_after_one_step(learning_rate_by_regex(adam({.learning_rate = 0.1f}), {{"conv0/.*", 0.1}})->minimize(cost()),
                        -0.01, -0.01, -0.1);
}

TEST_F(LearningRateByRegexTest, ItWorksFromAroundOtherWrappersAndOnAScheduledRate) {
  const Variable rate = hyper_param("learning_rate", 0.5f);
  const auto optimizer = learning_rate_by_regex(
      learning_rate_by_regex(accumulate_gradients(ema_of_weights(sgd({.learning_rate = rate})), 1), {{".*/W", 3}}),
      {{"fc/W", 2}});
  const Operation train = optimizer->minimize(cost());
  expect_after_one_step(train, -1.5, -0.5, -3);
}

TEST_F(LearningRateByRegexTest, TheRateMayBeZero) {
  expect_after_one_step(learning_rate_by_regex(adam({.learning_rate = 0.1f}), {{"fc/W", 0}})->minimize(cost()), -0.1,
                        -0.1, 0);
}

TEST_F(LearningRateByRegexTest, SparseUpdatesTakeItToo) {
  const Variable table = get_variable("table", {.shape = {4, 2}, .initializer = init::zeros()});
  const Tensor ids = constant(Array::of<std::int32_t>({1}, {2}));
  const Operation train = learning_rate_by_regex(adam({.learning_rate = 0.1f}), {{"table", 5}})
                              ->minimize(reduce_sum(gather(table, ids)), {table});
  Session session(graph);
  session.initialize();
  session.run(train);
  EXPECT_NEAR(session.value(table).item(4), -0.5, 1e-6);
  EXPECT_EQ(session.value(table).item(0), 0);
}

TEST_F(LearningRateByRegexTest, AnExpressionThatMatchesNothingIsAnErrorWithTheNames) {
  const auto optimizer = learning_rate_by_regex(adam(), {{"conv0/.*", 2}, {"conv1", 3}});
  const std::string text = error_of([&] { optimizer->minimize(cost()); });
  EXPECT_EQ(text.find("[learning_rate_by_regex] expected an expression that matches a variable to train, got "
                      "\"conv1\", which matches none of 'conv0/W', 'conv0/b', 'fc/W' (at learning_rate_by_regex_test"),
            0u)
      << text;
  EXPECT_TRUE(text.ends_with("The whole name has to match.")) << text;
  EXPECT_EQ(error_of([&] {
              learning_rate_by_regex(adam(), {{".*", -2}});
            }).find("[learning_rate_by_regex] expected factors of 0 or more, got -2 for \".*\" (at "),
            0u);
}

}  // namespace
}  // namespace belfry
