#include "belfry/graph/internal/graph_transaction.h"

#include "belfry/graph/export.h"
#include "belfry/graph/gradients.h"
#include "belfry/graph/variable_scope.h"
#include "belfry/ops/pointwise.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

class GraphTransactionTest : public OpTest {
 protected:
  // Some of everything that a graph keeps.
  static Tensor add_all() {
    const VariableScope layer("layer");
    const NameScope inner("inner");
    const Variable w = get_variable("W", {.shape = {2}, .regularizer = [](const Tensor& t) { return t * 2.f; }});
    const Tensors y = custom_gradient(
        {w}, [](const Tensors& in) { return Tensors{exp(in[0])}; },
        [](const Tensors&, const Tensors&, const Tensors& dy) { return dy; });
    return add(y[0], w.assign(y[0]), "output");
  }
};

TEST_F(GraphTransactionTest, WhatIsNotKeptLeavesTheGraphAsItWas) {
  {
    const VariableScope layer("layer");
    add(constant(1.f), 1.f);
  }
  const std::string before = to_json(graph);
  {
    const GraphTransaction transaction(graph);
    add_all();
    EXPECT_NE(to_json(graph), before);
  }
  EXPECT_EQ(to_json(graph), before);
  EXPECT_TRUE(graph.collections().names().empty());
  EXPECT_FALSE(graph.has_name("layer/W"));
}

TEST_F(GraphTransactionTest, TheNextAttemptGetsTheSameNamesAsAFirstOne) {
  {
    const GraphTransaction transaction(graph);
    add_all();
  }
  add_all();
  Graph fresh;
  {
    const GraphScope other(fresh);
    add_all();
  }
  const auto names = [](const Graph& g) {
    std::vector<std::string> out;
    for (const Operation& op : g.operations()) out.push_back(op.name());
    return out;
  };
  EXPECT_EQ(names(graph), names(fresh));
  EXPECT_EQ(graph.get_tensor_by_name("layer/inner/output").shape(), Shape({2}));
}

TEST_F(GraphTransactionTest, WhatIsKeptStays) {
  {
    GraphTransaction transaction(graph);
    add_all();
    transaction.keep();
  }
  const Tensor y = graph.get_tensor_by_name("layer/inner/output");
  EXPECT_TRUE(gradients({y}, {graph.variables()[0].handle()})[0]);
  Session session(graph);
  session.initialize();
  EXPECT_EQ(session.run(y).item(), 2);  // exp(0) + exp(0)
}

TEST_F(GraphTransactionTest, AnInnerOneTakesBackItsOwnPartOnly) {
  GraphTransaction outer(graph);
  constant(1.f, "kept");
  {
    const GraphTransaction inner(graph);
    constant(1.f, "gone");
  }
  outer.keep();
  EXPECT_TRUE(graph.has_name("kept"));
  EXPECT_FALSE(graph.has_name("gone"));
  EXPECT_EQ(constant(2.f, "gone").node()->id, 1);
}

TEST_F(GraphTransactionTest, CollectionsForgetWhatWasAddedAndNothingElse) {
  Collections& collections = graph.collections();
  const Variable a = get_variable("a", {.shape = {}});
  collections.add("mine", a);
  {
    const GraphTransaction transaction(graph);
    const Variable b = get_variable("b", {.shape = {}});
    collections.add("mine", a);  // once more
    collections.add("mine", b);
    collections.add("new", exp(a));
    EXPECT_EQ(graph.find_variable("b"), b);
  }
  EXPECT_FALSE(graph.find_variable("b"));
  EXPECT_EQ(collections.variables("mine"), std::vector<Variable>{a});
  EXPECT_TRUE(collections.contains("mine", a));
  EXPECT_EQ(collections.size("new"), 0u);
  const Variable b = get_variable("b", {.shape = {}});
  EXPECT_FALSE(collections.contains("mine", b));
  EXPECT_EQ(collections.variables(collection::kTrainableVariables), (std::vector<Variable>{a, b}));
}

TEST_F(GraphTransactionTest, HandlesThatWereLeftOverAreRefusedAsThoseOfAnotherGraph) {
  Tensor left;
  {
    const GraphTransaction transaction(graph);
    left = add_all();
  }
  EXPECT_EQ(left.name(), "layer/inner/output");
  EXPECT_NE(error_of([&] { exp(left); }).find("got 'layer/inner/output' of another graph"), std::string::npos);
  EXPECT_NE(error_of([&] { gradients({left}, {left}); }).find("of another graph"), std::string::npos);
  EXPECT_NE(error_of([&] { run(left); }).find("expected fetches of the session's graph"), std::string::npos);
}

}  // namespace
}  // namespace belfry
