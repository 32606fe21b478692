#include "belfry/tower/tower_context.h"

#include <gtest/gtest.h>

#include <thread>

#include "belfry/base/error.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/pointwise.h"
#include "belfry/session/session.h"
#include "tests/support/errors.h"

namespace belfry {
namespace {

std::vector<std::string> names(const std::vector<Variable>& variables) {
  std::vector<std::string> out;
  for (const Variable& v : variables) out.push_back(v.name());
  return out;
}

using Names = std::vector<std::string>;

Initializer zero() {
  return [](const Shape& shape, DType dtype) { return constant(Array::zeros(dtype, shape)); };
}

class TowerContextTest : public testing::Test {
 protected:
  // What a layer does, in short: a scope, a variable, an output, and one entry in each collection.
  Tensor build() {
    const VariableScope layer("layer");
    const Variable w = get_variable(
        "W", {.shape = {2}, .initializer = zero(), .regularizer = [](const Tensor& v) { return v * 2.f; }});
    const Tensor y = add(w, 1.f, "output");
    Collections& c = graph.collections();
    c.add(collection::kSummaries, y);
    c.add(collection::kMovingSummaries, y);
    c.add(collection::kUpdateOps, Operation(y));
    c.add("MINE", y);
    return y;
  }
  std::size_t size(std::string_view name) { return graph.collections().size(name); }
  Names in(std::string_view name) { return names(graph.collections().variables(name)); }

  Graph graph;
  GraphScope scope{graph};
};

TEST_F(TowerContextTest, ATowerThatIsLeftByAnExceptionLeavesNothingBehindAndCanBeRepeated) {
  get_variable("kept", {.initializer = zero()});
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto broken = [&] {
      const TrainTowerContext tower("main");
      build();
      throw Error("expected luck, got none");
    };
    EXPECT_EQ(error_of(broken), "expected luck, got none");
    EXPECT_EQ(names(graph.variables()), Names{"kept"});
    EXPECT_FALSE(graph.has_name("main/layer/output"));
    EXPECT_EQ(in(collection::kTrainableVariables), Names{"kept"});
    EXPECT_EQ(size(collection::kUpdateOps) + size(collection::kSummaries) + size("MINE"), 0U);
  }
  const TrainTowerContext tower("main");
  EXPECT_EQ(build().name(), "main/layer/output");
  EXPECT_EQ(names(graph.variables()), (Names{"kept", "layer/W"}));
}

TEST_F(TowerContextTest, WhatASessionHasRunStaysWhenTheTowerIsLeftByAnException) {
  Session session(graph);
  Tensor y;
  const auto broken = [&] {
    const TrainTowerContext tower("");
    y = build();
    session.initialize();
    session.run(y);
    throw Error("expected luck, got none");
  };
  EXPECT_EQ(error_of(broken), "expected luck, got none");
  EXPECT_EQ(session.run(y).item(), 1);
}

TEST_F(TowerContextTest, OutsideOfATowerThereIsNoContextAndAskingSaysHowToEnterOne) {
  EXPECT_EQ(current_tower_context_or_null(), nullptr);
  EXPECT_EQ(
      error_of([] { get_current_tower_context(); }),
      "[get_current_tower_context] expected to be called while a tower is built, got no open tower on this thread. "
      "Enter one first: TrainTowerContext tower(\"\");");
  {
    const TrainTowerContext tower("");
    EXPECT_EQ(&get_current_tower_context(), &tower);
  }
  EXPECT_EQ(current_tower_context_or_null(), nullptr);
}

TEST_F(TowerContextTest, TheMainTrainingTowerHasNoPrefix) {
  const TrainTowerContext tower("", {.total = 2});
  EXPECT_TRUE(tower.is_training() && tower.is_main_training_tower() && tower.has_own_variables());
  EXPECT_EQ(tower.index(), 0);
  EXPECT_EQ(tower.total(), 2);
  EXPECT_EQ(tower.name_scope(), "");
  EXPECT_EQ(build().name(), "layer/output");
  EXPECT_EQ(names(tower.variables()), Names{"layer/W"});
}

TEST_F(TowerContextTest, ASecondTrainingTowerSharesVariablesAndHasANameScope) {
  {
    const TrainTowerContext tower("", {.total = 2});
    build();
  }
  const TrainTowerContext tower("tower1", {.index = 1, .total = 2});
  EXPECT_FALSE(tower.is_main_training_tower());
  EXPECT_FALSE(tower.has_own_variables());
  const Tensor y = build();
  EXPECT_EQ(y.name(), "tower1/layer/output");
  EXPECT_EQ(y.node()->tower, 1);
  EXPECT_EQ(names(tower.trainable_variables()), Names{"layer/W"});
  EXPECT_EQ(graph.variables().size(), 1u);
}

TEST_F(TowerContextTest, ASharingTowerThatAsksForAnotherVariableIsAnError) {
  const TrainTowerContext tower("tower1", {.index = 1, .total = 2});
  EXPECT_NE(error_of([&] { build(); }).find("[get_variable 'layer/W'] expected a variable that exists"),
            std::string::npos);
}

// The remedies that the error names, followed to the letter.
TEST_F(TowerContextTest, ASecondTowerThatDoesNotSayWhichItIsIsToldHow) {
  {
    const TrainTowerContext tower("");
    build();
  }
  {
    const TrainTowerContext tower("b");
    const std::string text = error_of([&] { build(); });
    EXPECT_TRUE(
        text.starts_with("[get_variable 'layer/W'] expected a new variable in tower 'b', got one that existed before "
                         "the tower (made at tower_context_test.cc:"))
        << text;
    EXPECT_NE(
        text.find("A tower shares variables if it is not the first (TrainTowerContext tower(\"tower1\", {.index = "
                  "1, .total = 2})) or asks for it (TrainTowerContext tower(\"b\", {.reuse = Reuse::yes})) "
                  "(variable scope 'layer', at tower_context_test.cc:"),
        std::string::npos)
        << text;
  }
  {
    const TrainTowerContext tower("tower1", {.index = 1, .total = 2});
    EXPECT_EQ(build().name(), "tower1/layer/output");
  }
  const TrainTowerContext tower("b", {.reuse = Reuse::yes});
  build();
  EXPECT_EQ(names(graph.variables()), Names{"layer/W"});
}

TEST_F(TowerContextTest, AVariableMadeTwiceInOneTowerHasTheErrorOfScopes) {
  const TrainTowerContext tower("");
  build();
  const std::string text = error_of([&] { build(); });
  EXPECT_NE(text.find("to share it, enter VariableScope::reopen({.reuse = Reuse::yes}) first"), std::string::npos)
      << text;
}

TEST_F(TowerContextTest, AReplicatedTowersVariablesArePrefixedAndLocal) {
  {
    const TrainTowerContext tower("tower0", {.total = 2});
    build();
  }
  {
    const TrainTowerContext tower("tower1", {.index = 1, .total = 2, .variable_scope = "copy1"});
    EXPECT_TRUE(tower.has_own_variables());
    EXPECT_EQ(build().name(), "tower1/layer/output");
    new_variable("state", {.shape = {}});
    EXPECT_EQ(names(tower.trainable_variables()), Names{"copy1/layer/W"});
    EXPECT_EQ(names(tower.variables()), (Names{"copy1/layer/W", "copy1/state"}));
  }
  EXPECT_EQ(in(collection::kGlobalVariables), Names{"layer/W"});
  EXPECT_EQ(in(collection::kLocalVariables), (Names{"copy1/layer/W", "copy1/state"}));
  EXPECT_EQ(in(collection::kTrainableVariables), Names{"layer/W"});
}

TEST_F(TowerContextTest, OnlyTheMainTrainingTowerLeavesSummariesAndEachItsUpdates) {
  {
    const TrainTowerContext tower("", {.total = 2});
    build();
  }
  for (const std::string_view name : {collection::kSummaries, collection::kMovingSummaries, collection::kUpdateOps})
    EXPECT_EQ(size(name), 1u) << name;
  {
    const TrainTowerContext tower("tower1", {.index = 1, .total = 2});
    build();
    EXPECT_EQ(tower.collected_tensors(collection::kSummaries).size(), 1u);
    EXPECT_EQ(tower.collected_operations(collection::kUpdateOps).size(), 1u);
  }
  for (const std::string_view name : {collection::kSummaries, collection::kMovingSummaries})
    EXPECT_EQ(size(name), 1u) << name;
  for (const std::string_view name : {collection::kUpdateOps, std::string_view("MINE")}) EXPECT_EQ(size(name), 2u);
}

TEST_F(TowerContextTest, APredictionTowerFindsVariablesAndLeavesNoTrace) {
  {
    const TrainTowerContext tower("");
    build();
  }
  const auto before = graph.collections().names();
  {
    const PredictTowerContext tower("predict");
    EXPECT_FALSE(tower.is_training());
    EXPECT_FALSE(tower.is_main_training_tower());
    EXPECT_FALSE(tower.has_own_variables());
    EXPECT_EQ(build().name(), "predict/layer/output");
    new_variable("state", {.shape = {}});
    graph.collections().add("OTHER", Tensor(graph.variables().front()));
  }
  for (const std::string& name : before) EXPECT_EQ(size(name), 1u) << name;
  EXPECT_EQ(size("OTHER"), 0u);
  EXPECT_EQ(in(collection::kLocalVariables), Names{"state"});
}

TEST_F(TowerContextTest, APredictionTowerAloneInItsGraphMakesTheVariables) {
  {
    const PredictTowerContext tower("");
    EXPECT_TRUE(tower.has_own_variables());
    build();
  }
  EXPECT_EQ(in(collection::kGlobalVariables), Names{"layer/W"});
  EXPECT_EQ(in(collection::kTrainableVariables), Names{"layer/W"});
  EXPECT_EQ(size(collection::kRegularizationLosses), 0u);
  EXPECT_EQ(size(collection::kUpdateOps), 0u);
}

TEST_F(TowerContextTest, APredictionTowerCanReadATowersOwnVariables) {
  {
    const TrainTowerContext tower("tower1", {.index = 1, .total = 2, .variable_scope = "copy1"});
    build();
  }
  const PredictTowerContext tower("predict1", {.variable_scope = "copy1"});
  EXPECT_EQ(build().name(), "predict1/layer/output");
  EXPECT_EQ(names(tower.trainable_variables()), Names{"copy1/layer/W"});
}

TEST_F(TowerContextTest, AnExceptionInsideLeavesTheTowerAndItsScopes) {
  error_of([&] {
    const TrainTowerContext tower("tower1", {.index = 1, .total = 2, .variable_scope = "copy1"});
    build();
    throw Error("stop");
  });
  EXPECT_EQ(current_tower_context_or_null(), nullptr);
  EXPECT_EQ(current_name_scope(), "");
  EXPECT_EQ(get_variable_scope().name(), "");
  EXPECT_EQ(size(collection::kSummaries), 0u);
}

TEST_F(TowerContextTest, ContextsDoNotNest) {
  const TrainTowerContext tower("outer");
  EXPECT_EQ(error_of([] { PredictTowerContext inner("inner"); }),
            "[TowerContext 'inner'] expected no tower to be open on this thread, got 'outer'. Towers do not nest: end "
            "that one first.");
  EXPECT_EQ(&get_current_tower_context(), &tower);
}

TEST_F(TowerContextTest, BadOptionsAreNamed) {
  EXPECT_NE(error_of([] {
              TrainTowerContext t("a", {.index = 2, .total = 2});
            }).find("expected an index from 0 to total - 1, got index 2 of 2"),
            std::string::npos);
  EXPECT_NE(
      error_of([] { TrainTowerContext t("", {.index = 1, .total = 2}); }).find("expected a name for training tower 1"),
      std::string::npos);
  EXPECT_NE(error_of([] {
              TrainTowerContext t("", {.variable_scope = "copy1"});
            }).find("expected a name for the tower with variable scope 'copy1'"),
            std::string::npos);
  EXPECT_EQ(error_of([] { TrainTowerContext t("a/"); }),
            "[TowerContext 'a/'] expected a name of letters, digits, '_', '-', '.' and single '/' between them, got "
            "'a/' (at tower_context_test.cc:" +
                std::to_string(__LINE__ - 3) + "). Choose another name.");
  const VariableScope outer("outer");
  EXPECT_NE(error_of([] {
              TrainTowerContext t("a");
            }).find("expected a training tower at the root variable scope, got 'outer'"),
            std::string::npos);
}

TEST_F(TowerContextTest, WithoutAGraphTheErrorSaysToEnterOne) {
  std::string text;
  std::jthread([&] { text = error_of([] { TrainTowerContext tower(""); }); }).join();
  EXPECT_NE(text.find("[graph] expected a current graph"), std::string::npos) << text;
}

}  // namespace
}  // namespace belfry
