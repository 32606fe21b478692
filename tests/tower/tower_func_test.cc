// Tower functions: what each call leaves to look things up in, and the five rules, each broken once.
#include "belfry/tower/tower_func.h"

#include <gtest/gtest.h>

#include "belfry/nn/hyper_param.h"
#include "belfry/nn/initializers.h"
#include "belfry/nn/layers.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "belfry/tower/tower_context.h"
#include "tests/session/session_testing.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

using testing_support::LogLines;
using Names = std::vector<std::string>;

const std::vector<TensorSpec> kSignature{{"x", f32, {kAny, 3}}, {"label", i32, {kAny}}};

class TowerFuncTest : public testing_support::GraphTest {
 protected:
  static Tensors inputs() {
    Tensors out;
    for (const TensorSpec& spec : kSignature) out.push_back(placeholder(spec.dtype, spec.shape));
    return out;
  }
  static Tensor weight(std::string_view name) {
    return get_variable(name, {.shape = {3}, .initializer = init::zeros()});
  }
  static Tensors train(TowerFunc& build, std::string_view name = "", TowerOptions options = {}) {
    const TrainTowerContext tower(name, std::move(options));
    return build(inputs());
  }
  // What building the first tower says.
  static std::string verdict(TowerFunc::Function function) {
    TowerFunc build(std::move(function), kSignature);
    return error_of([&] { train(build); });
  }
};

TEST_F(TowerFuncTest, EachCallLeavesAHandle) {
  TowerFunc build(
      [](const Inputs& in) {
        const VariableScope layer("layer");
        const Tensor y = multiply(in["x"], weight("W"), "output");
        current_graph().collections().add("MINE", y);
        return reduce_sum(y);
      },
      kSignature);
  train(build);
  train(build, "tower1", {.index = 1, .total = 2, .variable_scope = "tower1"});
  {
    const PredictTowerContext tower("predict");
    build(inputs());
  }
  const auto training = build.towers().training();
  ASSERT_EQ(training.size(), 2u);
  EXPECT_EQ(training[0].get_tensor("layer/output").name(), "layer/output");
  EXPECT_EQ(training[1]["layer/output"].name(), "tower1/layer/output");
  EXPECT_EQ(training[1]["x"], training[1].inputs()["x"]);
  EXPECT_EQ(training[1].get_variable("layer/W").name(), "tower1/layer/W");
  EXPECT_EQ(training[1].get_collection("MINE"), Tensors{training[1]["layer/output"]});
  EXPECT_EQ(training[0].outputs().size(), 1u);
  const TowerTensorHandle& predict = build.towers()["predict"];
  EXPECT_FALSE(predict.is_training());
  EXPECT_EQ(predict.get_variable("layer/W").name(), "layer/W");
  EXPECT_EQ(build.towers().inference().size(), 1u);
  EXPECT_EQ(error_of([&] { training[1].get_tensor("layer/outptu"); }),
            "[tower 'tower1'] expected the name of a tensor of the tower, got 'layer/outptu'. Did you mean "
            "'layer/output', 'layer/W' or 'layer/ReduceSum'?");
  EXPECT_EQ(error_of([&] { training[1].get_variable("layer/V"); }),
            "[tower 'tower1'] expected the name of a variable of the tower, got 'layer/V'. Did you mean 'layer/W'?");
}

TEST_F(TowerFuncTest, AVariableThatATowerLacksIsLookedForInTheGraph) {
  TowerFunc build(
      [](const Inputs& in) {
        Tensor y = in["x"];
        for (const char* name : {"a", "b", "c", "d", "e", "f"}) y = y * weight(name);
        return reduce_sum(y);
      },
      kSignature);
  TowerFunc empty([](const Inputs& in) { return reduce_sum(in["x"]); }, kSignature);
  train(build);
  train(empty, "empty");
  hyper_param("learning_rate", 0.1f);
  const auto refused = [](const TowerFunc& function, const std::string& name) {
    const std::string text = error_of([&] { function.towers().training()[0].get_variable(name); });
    const std::size_t at = text.find("got '" + name + "'.");
    return at == std::string::npos ? text : text.substr(at + name.size() + 7);
  };
  const std::string outside =
      " The graph has 'learning_rate' outside of it: trainer.graph().get_variable_by_name(\"learning_rate\").";
  EXPECT_EQ(refused(build, "learning_rate"), outside);
  EXPECT_EQ(refused(build, "lerning_rate"), outside);
  EXPECT_EQ(refused(build, "A"), " Did you mean 'a'?");
  EXPECT_EQ(refused(build, "something/else"), " It has 'a', 'b', 'c', 'd', 'e' and 1 more.");
  EXPECT_EQ(refused(empty, "something/else"), " It has none.");
  EXPECT_TRUE(refused(empty, "a").starts_with(" The graph has 'a' outside of it: ")) << refused(empty, "a");
}

TEST_F(TowerFuncTest, TheScratchGraphLeavesNoTrace) {
  int calls = 0;
  const Graph* last = nullptr;
  TowerFunc build(
      [&](const Inputs& in) {
        ++calls;
        last = &in["x"].graph();
        return reduce_sum(in["x"] * weight("W"));
      },
      kSignature);
  train(build);
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(last, &graph);  // the real call comes last: what the function keeps is the graph's
  EXPECT_EQ(graph.variables().size(), 1u);
  TowerFunc once([&](const Inputs&) { ++calls; }, kSignature, {.check_tower_rules = false});
  train(once);
  EXPECT_EQ(calls, 5);
}

TEST_F(TowerFuncTest, WhatComesFromOutsideTheFunctionIsNoViolation) {
  const Variable outside = var("outside", Array(2.f));
  EXPECT_EQ(verdict([&](const Inputs& in) { return Tensors{reduce_sum(in["x"] * outside)}; }), "no error");
}

TEST_F(TowerFuncTest, Rule1AnotherSetOfTrainablesInEachCall) {
  int calls = 0;
  EXPECT_EQ(
      verdict([&](const Inputs&) { return Tensors{weight("w" + std::to_string(calls++))}; }),
      "[tower function] expected the same trainable variables from two calls, because it is called for every tower "
      "and for inference, got 'w0' only in the first call and 'w1' only in the second (rule 1). It must do the "
      "same each time that it is called: the names of variables must not depend on the tower, on a count, or on "
      "what it did before.");
  bool extra = true;
  EXPECT_TRUE(contains(verdict([&](const Inputs&) {
                         if (std::exchange(extra, false)) weight("extra");
                         return Tensors{weight("w")};
                       }),
                       "got 'extra' only in the first call (rule 1)."));
}

TEST_F(TowerFuncTest, Rule1BetweenRealTowers) {
  bool second = false;
  TowerFunc build(
      [&](const Inputs&) {
        if (second) weight("more");
        return weight("w");
      },
      kSignature);
  train(build);
  second = true;
  EXPECT_TRUE(error_of([&] { train(build, "tower1", {.index = 1, .total = 2, .variable_scope = "tower1"}); })
                  .starts_with("[tower 'tower1'] expected a tower function that makes the same trainable variables as "
                               "in the first tower, got 'more' only in 'tower1' (rule 1)."));
}

TEST_F(TowerFuncTest, Rule1InferenceMakesNoTrainable) {
  TowerFunc build(
      [&](const Inputs&) {
        if (!get_current_tower_context().is_training()) weight("only_here");
        return weight("w");
      },
      kSignature);
  train(build);
  const auto predict = [&] {
    const PredictTowerContext tower("predict", {.reuse = Reuse::automatic});
    build(inputs());
  };
  EXPECT_TRUE(error_of(predict).starts_with(
      "[tower 'predict'] expected an inference tower to use trainable variables of the training towers, got "
      "'only_here' of its own (rule 1)."));
}

TEST_F(TowerFuncTest, Rule2TrainablesAreFloats) {
  EXPECT_TRUE(contains(
      verdict([](const Inputs&) { return Tensors{get_variable("n", {.dtype = i32, .initializer = init::zeros()})}; }),
      "[get_variable 'n'] expected a float type to train, got i32. Pass .trainable = false"));
}

TEST_F(TowerFuncTest, Rule2StateThatInferenceNeedsIsAModelVariable) {
  TowerFunc build(
      [](const Inputs& in) {
        const Variable state = get_variable("state", {.shape = {3}, .initializer = init::zeros(), .trainable = false});
        return (in["x"] * weight("w") + state) | batch_norm("bn");
      },
      kSignature);
  train(build);
  const LogLines log;
  const PredictTowerContext tower("predict");
  build(inputs());
  EXPECT_EQ(log.text,
            "[tower 'predict'] inference uses 'state', which is neither trainable nor one of MODEL_VARIABLES (rule 2): "
            "an exported model will lack it.\n");
}

TEST_F(TowerFuncTest, Rule2NamesAllStatesInOneLineAndOnce) {
  TowerFunc build(
      [](const Inputs& in) {
        Tensor y = in["x"] * weight("w");
        for (const char* name : {"c0", "c1", "h0", "h1"})
          y = y + get_variable(name, {.shape = {3}, .initializer = init::zeros(), .trainable = false});
        return reduce_sum(y);
      },
      kSignature);
  train(build);
  const LogLines log;
  for (const char* name : {"validation", "test"}) {
    const PredictTowerContext tower(name);
    build(inputs());
  }
  EXPECT_EQ(log.text,
            "[tower 'validation'] inference uses 'c0', 'c1', 'h0', 'h1', which are neither trainable nor part of "
            "MODEL_VARIABLES (rule 2): an exported model will lack them.\n");
}

TEST_F(TowerFuncTest, Rule3NamesDoNotComeFromTensors) {
  EXPECT_TRUE(contains(verdict([](const Inputs& in) {
                         const Tensor y = multiply(in["x"], 2.f, "scaled");
                         return Tensors{weight(y.name() + "_weight")};
                       }),
                       "got 'replica1/replica1/scaled_weight' (rule 3)."));
}

TEST_F(TowerFuncTest, Rule4ReuseIsLeftAlone) {
  EXPECT_EQ(verdict([](const Inputs&) {
              const Tensor w = weight("w");
              get_variable_scope().reuse_variables();
              return Tensors{w};
            }),
            "[tower ''] expected the reuse of variable scope '' to stay unchanged, got it changed (rule 4). A tower "
            "function may "
            "set the reuse of scopes that it opens itself: VariableScope scope(\"name\", {.reuse = Reuse::yes}).");
  EXPECT_EQ(verdict([](const Inputs&) {
              {
                const VariableScope a("a"), inner("b");
              }
              const VariableScope again("a");
              const Tensor w = weight("w");
              get_variable_scope().reuse_variables();  // its own scope
              return Tensors{w, weight("w")};
            }),
            "no error");
}

TEST_F(TowerFuncTest, Rule4TrainablesRespectReuse) {
  EXPECT_EQ(verdict([](const Inputs&) {
              const bool again = get_variable_scope().reuse() != Reuse::no;
              return Tensors{weight("a"), weight(again ? "b_again" : "b")};
            }),
            "[tower ''] expected a second call under reuse to find its trainable variables, got 'b_again' as new ones "
            "(rule 4). Use get_variable() and leave reuse to the scope.");
}

TEST_F(TowerFuncTest, Rule5TheWordTowerIsReserved) {
  EXPECT_TRUE(contains(verdict([](const Inputs&) {
                         const VariableScope scope("my_tower");
                         return Tensors{weight("w")};
                       }),
                       "[tower ''] expected no "));
  EXPECT_TRUE(contains(verdict([](const Inputs& in) {
                         const NameScope scope("eiffel_tower");
                         return Tensors{in["x"] * 2.f};
                       }),
                       "expected no scope with the word 'tower' in its name, got 'eiffel_tower'"));
}

TEST_F(TowerFuncTest, MistakesAreNamed) {
  TowerFunc build([](const Inputs& in) { return in["image"]; }, kSignature);
  EXPECT_TRUE(contains(error_of([&] { train(build); }), "[inputs] expected the name of an input, got 'image'."));
  EXPECT_TRUE(contains(error_of([&] { build(inputs()); }), "expected to be called while a tower is built"));
  const auto with = [&](const Tensors& tensors) {
    return error_of([&] {
      const TrainTowerContext tower("");
      build(tensors);
    });
  };
  EXPECT_TRUE(
      with({constant(1.f)})
          .starts_with(
              "[tower function] expected 2 inputs, one for each in the signature, got 1 (at tower_func_test.cc:"));
  EXPECT_TRUE(with({placeholder(u8, {kAny, 3}, "p"), placeholder(i32, {kAny})})
                  .starts_with("[tower function] input 'x' expects f32 [?, 3], got 'p' u8 [?, 3] (at "));
  EXPECT_TRUE(contains(error_of([&] { build.towers()["none"]; }), "[towers] expected the name of a tower, got 'none'"));
}

}  // namespace
}  // namespace belfry
