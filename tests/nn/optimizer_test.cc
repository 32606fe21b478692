#include "belfry/nn/optimizer.h"

#include "tests/nn/nn_test_support.h"

namespace belfry {
namespace {

class OptimizerTest : public NnTest {
 protected:
  Variable weights(const char* name, Shape shape = {2, 3}) {
    return get_variable(name, {.shape = shape, .initializer = init::ones()});
  }
  static Tensor cost_of(const Variable& v) { return reduce_sum(square(v)); }
  Operation update_of(const Variable& v, std::string_view type) {
    for (const Operation& op : graph.operations())
      if (op.type() == type && op.node()->inputs[0] == v.handle()) return op;
    ADD_FAILURE() << "no " << type << " of " << v.name();
    return {};
  }
};

TEST_F(OptimizerTest, SgdUpdatesEachTrainableOnceAndKeepsNoState) {
  const Variable a = weights("a"), b = weights("b");
  const Operation train = sgd({.learning_rate = 0.1f, .weight_decay = 0.01})->minimize(cost_of(a) + cost_of(b));
  EXPECT_EQ(train.name(), "SGD");
  EXPECT_EQ(graph.variables().size(), 2u);
  for (const Variable& v : {a, b}) {
    const Operation update = update_of(v, "ApplySgd");
    EXPECT_TRUE(depends(train.node(), update.node()));
    EXPECT_EQ(update.node()->attributes.get<double>("weight_decay"), 0.01);
    EXPECT_EQ(update.name(), "SGD/update_" + v.name());
  }
}

TEST_F(OptimizerTest, SlotsAreNamedAfterTheVariableAndNotTrained) {
  const Variable w = weights("fc/W");
  const VariableScope elsewhere("elsewhere");
  momentum({.learning_rate = 0.1f, .nesterov = true})->minimize(cost_of(w));
  adam()->minimize(cost_of(w));
  EXPECT_EQ(in(collection::kGlobalVariables),
            (Names{"fc/W", "fc/W/Momentum/accumulator", "Adam/step", "fc/W/Adam/m", "fc/W/Adam/v"}));
  EXPECT_EQ(in(collection::kTrainableVariables), Names{"fc/W"});
  EXPECT_EQ(variable("fc/W/Adam/m").shape(), w.shape());
  EXPECT_EQ(variable("Adam/step").shape(), Shape());
  EXPECT_TRUE(update_of(w, "ApplyMomentum").node()->attributes.flag("nesterov"));
}

TEST_F(OptimizerTest, AdamCountsOncePerUpdateAndTheUpdatesComeAfter) {
  const Variable a = weights("a"), b = weights("b");
  const Operation train = adam({.learning_rate = 0.01f})->minimize(cost_of(a) + cost_of(b), "train");
  EXPECT_EQ(train.name(), "train");
  std::vector<const Node*> counts;
  for (const Operation& op : graph.operations())
    if (op.type() == "AssignAdd") counts.push_back(op.node());
  ASSERT_EQ(counts.size(), 1u);
  for (const Variable& v : {a, b}) {
    const Operation update = update_of(v, "ApplyAdam");
    EXPECT_EQ(update.node()->inputs[3].node(), counts[0]);
    EXPECT_TRUE(depends(train.node(), update.node()));
  }
}

TEST_F(OptimizerTest, TwoSetsOfVariablesCountApartAndTheSameSetSharesItsState) {
  const Variable d = weights("d"), g = weights("g");
  const auto optimizer = adam();
  optimizer->minimize(cost_of(d), {d}, "d_min");
  optimizer->minimize(cost_of(g), {g}, "g_min");
  EXPECT_EQ(in(collection::kGlobalVariables),
            (Names{"d", "g", "Adam/step", "d/Adam/m", "d/Adam/v", "Adam/step_1", "g/Adam/m", "g/Adam/v"}));
  const std::size_t count = graph.variables().size();
  optimizer->minimize(cost_of(d), {d}, "again");
  EXPECT_EQ(graph.variables().size(), count);
}

TEST_F(OptimizerTest, TheLearningRateMayBeAVariableOrATensor) {
  const Variable w = weights("w"), rate = hyper_param("learning_rate", 0.1f);
  sgd({.learning_rate = rate})->minimize(cost_of(w), "by_variable");
  EXPECT_EQ(update_of(w, "ApplySgd").node()->inputs[1], rate.handle());
  const Tensor half = rate * 0.5f;
  momentum({.learning_rate = half})->minimize(cost_of(w), "by_tensor");
  EXPECT_EQ(update_of(w, "ApplyMomentum").node()->inputs[2], half);
}

TEST_F(OptimizerTest, InATowerTheDefaultIsTheTowersOwnTrainables) {
  const auto optimizer = momentum({.learning_rate = 0.1f});
  const auto build = [&] { return cost_of(weights("w")); };
  {
    const TrainTowerContext tower("", {.total = 2});
    optimizer->minimize(build());
  }
  {
    const TrainTowerContext tower("tower1", {.index = 1, .total = 2, .variable_scope = "copy1"});
    const auto gradients = optimizer->compute_gradients(build());
    ASSERT_EQ(gradients.size(), 1u);
    EXPECT_EQ(gradients[0].variable.name(), "copy1/w");
    EXPECT_EQ(optimizer->apply_gradients(gradients).name(), "tower1/Momentum");
  }
  EXPECT_EQ(in(collection::kGlobalVariables), (Names{"w", "w/Momentum/accumulator"}));
  EXPECT_EQ(in(collection::kLocalVariables), (Names{"copy1/w", "copy1/w/Momentum/accumulator"}));
}

TEST_F(OptimizerTest, ASlotMadeAfterTheTowerIsLocalAsItsVariableIs) {
  Tensor cost;
  Variable copy;
  {
    const TrainTowerContext tower("tower1", {.index = 1, .total = 2, .variable_scope = "copy1"});
    copy = weights("w");
    cost = cost_of(copy);
  }
  momentum({.learning_rate = 0.1f})->minimize(cost, {copy});
  EXPECT_TRUE(in(collection::kGlobalVariables).empty());
  EXPECT_EQ(in(collection::kLocalVariables), (Names{"copy1/w", "copy1/w/Momentum/accumulator"}));
}

TEST_F(OptimizerTest, AnUpdateRunsOnTheVariablesDevice) {
  Variable w;
  {
    const DeviceScope device("cpu:1");
    w = weights("w");
  }
  momentum({.learning_rate = 0.1f})->minimize(cost_of(w));
  EXPECT_EQ(update_of(w, "ApplyMomentum").node()->device, "cpu:1");
  EXPECT_EQ(variable("w/Momentum/accumulator").node()->device, "cpu:1");
}

TEST_F(OptimizerTest, AVariableWithoutGradientIsLeftAloneWithAWarning) {
  const Variable used = weights("used"), unused = weights("unused");
  std::string logged;
  const LogRedirect redirect([&](LogLevel level, std::string_view text) {
    if (level == LogLevel::warning) logged += text;
  });
  const Operation train = sgd({.learning_rate = 0.1f})->minimize(cost_of(used));
  EXPECT_TRUE(contains(logged, "[SGD] no gradient for 'unused' (at optimizer_test.cc:")) << logged;
  EXPECT_FALSE(depends(train.node(), unused.node()));
}

TEST_F(OptimizerTest, MistakesNameTheVariableTheCostOrTheOption) {
  const Variable a = weights("a"), b = weights("b");
  const auto optimizer = sgd({.learning_rate = 0.1f});
  EXPECT_TRUE(contains(
      error_of([&] { optimizer->minimize(cost_of(a), {b}); }),
      "[SGD] expected a cost that depends on the variables to train, got no gradient for 'b' (at optimizer_test.cc:"));
  EXPECT_TRUE(contains(error_of([&] { optimizer->minimize(square(a, "squares")); }),
                       "[SGD] expected a scalar float as cost, got 'squares' f32 [2, 3]"));
  EXPECT_TRUE(contains(error_of([&] { optimizer->minimize(Tensor()); }), "[SGD] expected a cost, got an empty tensor"));
  EXPECT_TRUE(contains(error_of([&] { optimizer->minimize(cost_of(a), std::vector<Variable>{}); }),
                       "[SGD] expected variables to train, got an empty list"));
  EXPECT_TRUE(contains(error_of([&] { optimizer->minimize(cost_of(a), {a, a}); }),
                       "[SGD] expected each variable once, got 'a' twice"));
  EXPECT_TRUE(contains(error_of([&] { optimizer->apply_gradients({}); }),
                       "[SGD] expected gradients to apply, got an empty list"));
  const auto expect = [&](const std::string& text, const std::string& complaint, const std::string& remedy) {
    EXPECT_EQ(text.find(complaint + " (at optimizer_test.cc:"), 0u) << text;
    EXPECT_TRUE(text.ends_with("). " + remedy)) << text;
  };
  const std::string a_scalar = "Pass a number, a hyper_param(), or a scalar tensor.";
  expect(error_of([&] { sgd({.learning_rate = a}); }),
         "[sgd] expected a learning rate that is a single float, got 'a' f32 [2, 3]", a_scalar);
  expect(error_of([&] { sgd({.learning_rate = Tensor()}); }),
         "[sgd] expected a learning rate that is a single float, got (no tensor)", a_scalar);
  expect(error_of([&] { sgd({.learning_rate = -1.f}); }), "[sgd] expected a learning rate of 0 or more, got -1",
         "To maximise something, minimize its negative.");
  expect(error_of([&] { sgd({.learning_rate = 1.f, .weight_decay = -1}); }),
         "[sgd] expected weight_decay of 0 or more, got -1", "0 means no decay.");
  expect(error_of([&] { momentum({.learning_rate = 1.f, .momentum = 1}); }),
         "[momentum] expected momentum in [0, 1), got 1", "The usual one is 0.9.");
  expect(error_of([&] { adam({.beta2 = 1.5}); }), "[adam] expected beta2 in [0, 1), got 1.5",
         "The usual one is 0.999.");
  expect(error_of([&] { adam({.epsilon = -1}); }), "[adam] expected epsilon of 0 or more, got -1",
         "The usual one is 1e-8.");
}

TEST_F(OptimizerTest, WithoutTrainablesTheErrorSaysWhere) {
  const Tensor cost = constant(1.f);
  EXPECT_TRUE(contains(error_of([&] { adam()->minimize(cost); }),
                       "[Adam] expected trainable variables in the graph, got none (at optimizer_test.cc:" +
                           std::to_string(__LINE__ - 2) + "). Make some before the optimizer, or pass"));
  const TrainTowerContext tower("t");
  EXPECT_TRUE(contains(error_of([&] { adam()->minimize(cost); }),
                       "[Adam] expected trainable variables in tower 't', got none (at optimizer_test.cc:" +
                           std::to_string(__LINE__ - 2) + ")."));
}

TEST_F(OptimizerTest, VariablesMadeBeforeTheTowerAreTrainedByDefault) {
  const Variable before = weights("before");
  const TrainTowerContext tower("");
  const Variable inside = weights("inside");
  EXPECT_EQ(names(tower.trainable_variables()), Names{"inside"});
  const Operation train = sgd({.learning_rate = 0.25f})->minimize(cost_of(before) + cost_of(inside));
  Session session(graph);
  session.initialize();
  session.run(train);
  EXPECT_EQ(session.value(before).item(), 0.5);
  EXPECT_EQ(session.value(inside).item(), 0.5);
}

TEST_F(OptimizerTest, ATowerWithVariablesOfItsOwnTrainsNoOthersByDefault) {
  const Variable before = weights("before");
  const TrainTowerContext tower("tower1", {.index = 1, .total = 2, .variable_scope = "copy1"});
  const Variable inside = weights("inside");
  const Operation train = sgd({.learning_rate = 0.25f})->minimize(cost_of(before) + cost_of(inside));
  Session session(graph);
  session.initialize();
  session.run(train);
  EXPECT_EQ(session.value(before).item(), 1);
  EXPECT_EQ(session.value(inside).item(), 0.5);
}

TEST_F(OptimizerTest, NamesOfOperationsThatRepeatGetASuffix) {
  const Variable a = weights("a");
  const auto optimizer = sgd({.learning_rate = 0.1f});
  EXPECT_EQ(optimizer->minimize(cost_of(a), "train").name(), "train");
  EXPECT_EQ(optimizer->minimize(cost_of(a), "train").name(), "train_1");
  EXPECT_EQ(optimizer->minimize(cost_of(a)).name(), "SGD");
  EXPECT_EQ(optimizer->minimize(cost_of(a)).name(), "SGD_1");
}

}  // namespace
}  // namespace belfry
