// Regularisers, initialisers, hyper-parameters and summaries, as graphs.
#include "belfry/nn/regularizers.h"

#include <cmath>

#include "tests/nn/nn_test_support.h"

namespace belfry {
namespace {

class RegularizersTest : public NnTest {
 protected:
  void build() {
    for (const char* name : {"conv0/W", "fc0/W", "fc0/b", "fc1/W"})
      get_variable(name, {.shape = {2, 2}, .initializer = init::ones()});
  }
  // The names of the variables that a cost reaches.
  Names reached(const Tensor& cost) {
    Names out;
    for (const Variable& v : graph.variables())
      if (depends(cost.node(), v.node())) out.push_back(v.name());
    return out;
  }
  std::string logged;
  const LogRedirect redirect{[this](LogLevel, std::string_view text) { logged += text; }};
};

TEST_F(RegularizersTest, TheWholeNameMustMatch) {
  const TrainTowerContext tower("");
  build();
  const Tensor cost = regularize_cost("fc.*/W", l2(1e-5));
  EXPECT_EQ(cost.name(), "regularize_cost");
  EXPECT_EQ(cost.shape(), Shape());
  EXPECT_EQ(reached(cost), (Names{"fc0/W", "fc1/W"}));
  EXPECT_TRUE(contains(logged, "[regularize_cost] \"fc.*/W\" matches fc0/W [2, 2], fc1/W [2, 2]")) << logged;
  EXPECT_EQ(reached(regularize_cost("W", l1(1))), Names{});
  EXPECT_EQ(reached(regularize_cost(".*/b", l1(1), "other")), Names{"fc0/b"});
}

TEST_F(RegularizersTest, NoMatchIsZeroWithAWarning) {
  build();
  const Tensor cost = regularize_cost("nothing", l2(1));
  EXPECT_TRUE(contains(
      logged, "[regularize_cost] no trainable variable matches \"nothing\": the cost is 0 (at regularizers_test.cc:"))
      << logged;
  EXPECT_EQ(reached(cost), Names{});
}

TEST_F(RegularizersTest, ItIsZeroInInference) {
  {
    const TrainTowerContext tower("");
    build();
  }
  const PredictTowerContext tower("predict");
  build();
  const Tensor cost = regularize_cost(".*", l2(1));
  EXPECT_EQ(cost.name(), "predict/regularize_cost");
  EXPECT_EQ(reached(cost), Names{});
}

TEST_F(RegularizersTest, AReplicatedTowerSeesItsOwnVariablesWithoutThePrefix) {
  {
    const TrainTowerContext tower("", {.total = 2});
    build();
  }
  const TrainTowerContext tower("tower1", {.index = 1, .total = 2, .variable_scope = "copy1"});
  build();
  EXPECT_EQ(reached(regularize_cost("fc./W", l2(1))), (Names{"copy1/fc0/W", "copy1/fc1/W"}));
}

TEST_F(RegularizersTest, AnInvalidExpressionIsShown) {
  EXPECT_TRUE(contains(error_of([] { regularize_cost("fc(/W", l2(1)); }),
                       "[regularize_cost] expected an ECMAScript regular expression, got \"fc(/W\" ("));
  EXPECT_TRUE(contains(error_of([] { regularize_cost("fc", {}); }), "expected a regulariser, got an empty one"));
  EXPECT_TRUE(contains(error_of([] { l2(-1); }), "[l2] expected a scale of 0 or more, got -1"));
  build();
  EXPECT_TRUE(contains(error_of([] { regularize_cost("fc0/b", [](const Tensor& w) { return w; }); }),
                       "expected a scalar from the regulariser of 'fc0/b', got [2, 2]"));
}

TEST_F(RegularizersTest, TheCollectionsLossesAreSummed) {
  const auto make = [] { get_variable("w", {.shape = {2}, .initializer = init::ones(), .regularizer = l2(1)}); };
  {
    const TrainTowerContext tower("", {.total = 3});
    make();
    EXPECT_EQ(reached(regularize_cost_from_collection()), Names{"w"});
  }
  {
    const TrainTowerContext tower("tower1", {.index = 1, .total = 3});
    make();
    EXPECT_EQ(reached(regularize_cost_from_collection()), Names{"w"});
  }
  {
    const TrainTowerContext tower("tower2", {.index = 2, .total = 3, .variable_scope = "copy2"});
    make();
    EXPECT_EQ(reached(regularize_cost_from_collection()), Names{"copy2/w"});
  }
  const PredictTowerContext tower("predict");
  EXPECT_EQ(reached(regularize_cost_from_collection("zero")), Names{});
}

using InitializersTest = NnTest;

TEST_F(InitializersTest, TheSpreadFollowsTheFans) {
  const Shape filter{3, 3, 4, 8};  // fan in 36, out 72, average 54
  const auto bound = [&](const Initializer& i) { return i(filter, f32).node()->attributes.get<double>("high"); };
  const auto stddev = [&](const Initializer& i) { return i(filter, f32).node()->attributes.get<double>("stddev"); };
  EXPECT_DOUBLE_EQ(bound(init::glorot_uniform()), std::sqrt(6.0 / (36 + 72)));
  EXPECT_DOUBLE_EQ(bound(init::he_uniform()), std::sqrt(6.0 / 36));
  EXPECT_DOUBLE_EQ(stddev(init::he_normal()), std::sqrt(2.0 / 36) / 0.87962566103423978);
  EXPECT_DOUBLE_EQ(stddev(init::glorot_normal()), std::sqrt(1.0 / 54) / 0.87962566103423978);
  EXPECT_DOUBLE_EQ(stddev(init::variance_scaling({.fan = init::Fan::out, .distribution = init::Distribution::normal})),
                   std::sqrt(1.0 / 72));
  EXPECT_TRUE(contains(error_of([] { init::variance_scaling({.scale = 0}); }),
                       "[variance_scaling] expected a scale above 0, got 0"));
}

TEST_F(InitializersTest, ValuesHaveTheVariablesType) {
  EXPECT_EQ(get_variable("a", {.shape = {2}, .dtype = f64, .initializer = init::normal({.stddev = 0.1})})
                .initial_value()
                .dtype(),
            f64);
  EXPECT_EQ(get_variable("b", {.shape = {2}, .dtype = i32, .initializer = init::constant(3), .trainable = false})
                .initial_value()
                .dtype(),
            i32);
}

using HyperParamTest = NnTest;

TEST_F(HyperParamTest, IsASavedScalarThatIsMadeOnce) {
  const Variable rate = hyper_param("learning_rate", 1e-3f);
  EXPECT_EQ(rate.shape(), Shape());
  EXPECT_FALSE(rate.trainable());
  EXPECT_EQ(in(collection::kGlobalVariables), Names{"learning_rate"});
  EXPECT_EQ(hyper_param("learning_rate", 1e-3f), rate);
  EXPECT_TRUE(contains(error_of([] { hyper_param("learning_rate", 0.1f); }),
                       "[hyper_param 'learning_rate'] expected the value 0.001, with which it was created, got 0.1 (made"));
}

using SummaryTest = NnTest;

TEST_F(SummaryTest, OnlyTheMainTrainingTowerAddsSummaries) {
  const Tensor a = constant(1.f, "a"), b = constant(2.f, "b");
  const auto sizes = [&] {
    return std::pair(graph.collections().size(collection::kMovingSummaries),
                     graph.collections().size(collection::kSummaries));
  };
  {
    const TrainTowerContext tower("", {.total = 2});
    add_moving_summary({a, b});
    add_summary({a});
  }
  EXPECT_EQ(sizes(), std::pair(2ul, 1ul));
  {
    const TrainTowerContext tower("tower1", {.index = 1, .total = 2});
    add_moving_summary({a});
    add_summary({a});
    EXPECT_EQ(sizes(), std::pair(2ul, 1ul));
  }
  {
    const PredictTowerContext tower("predict");
    add_moving_summary({a});
    add_summary({a});
    EXPECT_EQ(sizes(), std::pair(2ul, 1ul));
  }
  EXPECT_TRUE(contains(error_of([&] { add_moving_summary({a, constant(Array::zeros(f32, {2}), "v")}); }),
                       "[add_moving_summary] expected scalar floats, got 'v' f32 [2] (at regularizers_test.cc:"));
  EXPECT_TRUE(
      contains(error_of([&] { add_summary({Tensor()}); }), "[add_summary] expected tensors, got an empty handle"));
}

}  // namespace
}  // namespace belfry
