#include "belfry/nn/replace_variables.h"

#include "tests/nn/nn_test_support.h"

namespace belfry {
namespace {

class ReplaceVariablesTest : public NnTest {
 protected:
  Tensor x = placeholder(f32, {kAny, 3});
};

TEST_F(ReplaceVariablesTest, FrozenLayersAreNeitherTrainedNorRegularisedButSavedAndExported) {
  Tensor y;
  {
    const auto frozen = freeze_variables();
    y = x | fully_connected("backbone", {.units = 2});
  }
  const Tensor cost = reduce_sum(square(y | fully_connected("head", {.units = 1}))),
               total = cost + regularize_cost(".*/W", l2(0.1));
  EXPECT_EQ(in(collection::kTrainableVariables), (Names{"head/W", "head/b"}));
  EXPECT_EQ(in(collection::kGlobalVariables), (Names{"backbone/W", "backbone/b", "head/W", "head/b"}));
  EXPECT_EQ(in(collection::kModelVariables), (Names{"backbone/W", "backbone/b"}));
  EXPECT_FALSE(gradients(total, {variable("backbone/W")})[0]);
  const Operation train = sgd({.learning_rate = 0.1f})->minimize(total);
  Session session(graph);
  session.initialize();
  const Array backbone = session.value(variable("backbone/W")), head = session.value(variable("head/W"));
  session.run(train, {{x, Array::full(f32, {2, 3}, 1)}});
  EXPECT_TRUE(equal(session.value(variable("backbone/W")), backbone));
  EXPECT_FALSE(equal(session.value(variable("head/W")), head));
}

TEST_F(ReplaceVariablesTest, EachFreezingOptionLeavesTheOtherWay) {
  const auto made = [&](const char* name, const FreezeOptions& options) {
    const auto frozen = freeze_variables(options);
    return get_variable(name, {.shape = {2}});
  };
  const Variable stopped = made("stopped", {.skip_collection = false}),
                 skipped = made("skipped", {.stop_gradient = false});
  EXPECT_EQ(in(collection::kTrainableVariables), Names{"stopped"});
  const Tensor cost = reduce_sum(stopped) + reduce_sum(skipped);
  EXPECT_FALSE(gradients(cost, {stopped})[0]);
  EXPECT_TRUE(static_cast<bool>(gradients(cost, {skipped})[0]));
}

TEST_F(ReplaceVariablesTest, FreezingKeepsScopesReuseAndStateThatIsNotTrained) {
  const TrainTowerContext tower("");
  const VariableScope block("block");
  {
    const auto frozen = freeze_variables();
    x | batch_norm("bn");
  }
  EXPECT_EQ(in(collection::kTrainableVariables), Names{});
  const Names model = in(collection::kModelVariables);
  for (const char* name : {"block/bn/gamma", "block/bn/beta", "block/bn/mean/EMA", "block/bn/variance/EMA"})
    EXPECT_EQ(std::ranges::count(model, name), 1) << name;
  get_variable("free", {.shape = {1}});
  EXPECT_EQ(in(collection::kTrainableVariables), Names{"block/free"});
}

// What a step of a frozen batch norm does to a batch of 1, 2, 3 and to averages of 0 and 1.
struct FrozenStep {
  Array y;
  double mean = 0, variance = 0;
};

FrozenStep frozen_step(const FreezeOptions& options, const BatchNormLayerOptions& layer = {}) {
  Graph graph;
  const GraphScope scope(graph);
  const Tensor x = placeholder(f32, {kAny, 1});
  const TrainTowerContext tower("");
  Tensor y;
  {
    const auto outside = freeze_variables(options);
    const auto inside = freeze_variables();  // which asks for less
    y = x | batch_norm("bn", layer);
  }
  std::vector<Fetch> fetches{y};
  for (const Operation& update : update_ops(graph)) fetches.emplace_back(update);
  Session session(graph);
  session.initialize();
  const Array out = session.run(fetches, {{x, Array::of<float>({3, 1}, {1, 2, 3})}})[0];
  return {.y = out,
          .mean = session.value(graph.get_variable_by_name("bn/mean/EMA")).item(),
          .variance = session.value(graph.get_variable_by_name("bn/variance/EMA")).item()};
}

TEST(FrozenBatchNormTest, ByDefaultTheAveragesMove) {
  const FrozenStep step = frozen_step({});
  EXPECT_NEAR(step.y.item(0), -1.2247, 1e-3);
  EXPECT_NEAR(step.mean, 0.1 * 2, 1e-6);
}

TEST(FrozenBatchNormTest, TheAveragesMayStayWhileTheBatchIsNormalisedByItself) {
  const FrozenStep step = frozen_step({.batch_statistics = BatchStatistics::stay});
  EXPECT_NEAR(step.y.item(0), -1.2247, 1e-3);
  EXPECT_EQ(step.mean, 0);
  EXPECT_EQ(step.variance, 1);
}

TEST(FrozenBatchNormTest, TheBatchMayBeNormalisedByTheAveragesAsInInference) {
  const FrozenStep step = frozen_step({.batch_statistics = BatchStatistics::stored});
  EXPECT_NEAR(step.y.item(2), 3, 1e-4);
  EXPECT_EQ(step.mean, 0);
  EXPECT_EQ(step.variance, 1);
}

TEST(FrozenBatchNormTest, ALayersOwnWordCounts) {
  const FrozenStep step = frozen_step({.batch_statistics = BatchStatistics::stored}, {.training = true});
  EXPECT_NEAR(step.y.item(0), -1.2247, 1e-3);
  EXPECT_EQ(step.mean, 0) << "its averages belong to the frozen scope";
}

TEST(FrozenBatchNormTest, OutsideOfTheScopeAllIsAsEver) {
  Graph graph;
  const GraphScope scope(graph);
  {
    const auto frozen = freeze_variables({.batch_statistics = BatchStatistics::stored});
    Graph other;
    const GraphScope inside(other);
    EXPECT_EQ(frozen_batch_statistics(), BatchStatistics::move) << "another graph";
  }
  EXPECT_EQ(frozen_batch_statistics(), BatchStatistics::move);
}

TEST_F(ReplaceVariablesTest, RemappedVariablesAreSeenThroughTheFunctionAndTrainedThroughIt) {
  Tensor y;
  {
    const auto scaled =
        remap_variables([](const Variable& v) -> Tensor { return v.name().ends_with("/W") ? v * 3.f : v.value(); });
    y = x | fully_connected("fc", {.units = 1, .kernel_initializer = init::ones()});
  }
  const Variable w = variable("fc/W");
  EXPECT_EQ(in(collection::kTrainableVariables), (Names{"fc/W", "fc/b"}));
  const Operation train = sgd({.learning_rate = 1.f})->minimize(reduce_sum(y));
  Session session(graph);
  session.initialize();
  const Feeds feeds{{x, Array::full(f32, {1, 3}, 2)}};
  EXPECT_EQ(session.run(y, feeds).item(), 18);
  session.run(train, feeds);
  EXPECT_EQ(session.value(w).item(), 1 - 3 * 2);
  EXPECT_EQ(session.value(variable("fc/b")).item(), -1);
}

TEST_F(ReplaceVariablesTest, InnerScopesSeeWhatOuterOnesMadeAndTheEffectEndsWithThem) {
  Variable both, none;
  {
    const auto outer = remap_variables([](const Variable& v) { return v + 1.f; });
    const auto inner = remap_variables([](const Variable& v) { return v * 10.f; });
    both = get_variable("both", {.initializer = init::ones()});
  }
  none = get_variable("none", {.initializer = init::ones()});
  Session session(graph);
  session.initialize();
  EXPECT_EQ(session.run(both + 0.f).item(), 20);
  EXPECT_EQ(session.run(none + 0.f).item(), 1);
}

TEST_F(ReplaceVariablesTest, AFunctionMustKeepTheVariablesShape) {
  const auto changed = remap_variables([](const Variable& v) { return reduce_sum(v); });
  const std::string text = error_of([&] { get_variable("w", {.shape = {2, 3}}); });
  EXPECT_EQ(text.find("[remap_variables] expected a tensor of f32 [2, 3] for 'w', got '"), 0u) << text;
  EXPECT_TRUE(contains(text, "f32 [] (at replace_variables_test.cc:")) << text;
  EXPECT_EQ(error_of([&] {
              const auto empty = remap_variables({});
            }).find("[remap_variables] expected a function, got an empty one (at "),
            0u);
}

}  // namespace
}  // namespace belfry
