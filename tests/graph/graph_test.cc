#include "belfry/graph/graph.h"

#include <gtest/gtest.h>

#include "belfry/base/error.h"
#include "belfry/graph/gradients.h"
#include "belfry/graph/scope.h"
#include "belfry/graph/variable_scope.h"
#include "belfry/ops/pointwise.h"
#include "tests/support/errors.h"

namespace belfry {
namespace {

Initializer zero() {
  return [](const Shape& shape, DType dtype) {
    return add_tensor(find_op("Constant"), {}, {.attributes = {{"value", Array::zeros(dtype, shape)}}});
  };
}

Variable var(const char* name, Shape shape = {2, 3}) {
  return get_variable(name, {.shape = shape, .initializer = zero()});
}

class GraphTest : public testing::Test {
 protected:
  Graph graph;
  GraphScope scope{graph};
};

TEST_F(GraphTest, ShapesAndTypesAreInferredWhenAnOpIsAdded) {
  const Variable a = var("a", {4, 1}), b = var("b", {3});
  const Tensor y = a * b + 1.f;
  EXPECT_EQ(y.shape(), Shape({4, 3}));
  EXPECT_EQ(y.dtype(), f32);
}

TEST_F(GraphTest, AShapeMismatchNamesTheOpItsInputsAndTheSourceLine) {
  const Variable a = var("a", {2}), b = var("b", {3});
  const std::string text = error_of([&] { add(a, b, "sum"); });
  EXPECT_NE(text.find("[Add 'sum']"), std::string::npos) << text;
  EXPECT_NE(text.find("'a' f32 [2], 'b' f32 [3]"), std::string::npos) << text;
  EXPECT_NE(text.find("(made at graph_test.cc:"), std::string::npos) << text;
}

TEST_F(GraphTest, AnOpRemembersTheLineOfAnOperatorExpression) {
  const Variable a = var("a");
  const Tensor y = a + a;
  EXPECT_EQ(y.node()->where.line(), static_cast<unsigned>(__LINE__ - 1));
}

TEST_F(GraphTest, NamesThatRepeatGetASuffix) {
  const Variable a = var("a");
  EXPECT_EQ(multiply(a, a, "y").name(), "y");
  EXPECT_EQ(add(a, a, "y").name(), "y_1");
  EXPECT_EQ(add(a, a, "y").name(), "y_2");
  EXPECT_EQ(add(a, a, "y_1").name(), "y_1_1");
  EXPECT_EQ(add(a, a, "a").name(), "a_1");  // a variable's name, too
  EXPECT_EQ(add(a, a).name(), "Add");
  EXPECT_EQ(add(a, a).name(), "Add_1");
  const NameScope block("block");
  EXPECT_EQ(add(a, a, "y").name(), "block/y");
  EXPECT_EQ(graph.get_tensor_by_name("y").node()->def->name, "Mul");  // the first keeps the name
}

TEST_F(GraphTest, AVariableDoesNotTakeAnOpsName) {
  const Variable a = var("a");
  multiply(a, a, "y");
  EXPECT_NE(error_of([&] { var("y"); }).find("[Variable 'y'] expected a name not in use, got that of [Mul 'y']"),
            std::string::npos);
}

TEST_F(GraphTest, AVariableIsFoundByNameOrTheNearestOnesAreShown) {
  const Variable w = var("fc/weights");
  add(w, 1.f, "fc/weight");
  EXPECT_EQ(graph.get_variable_by_name("fc/weights"), w);
  EXPECT_EQ(error_of([&] { graph.get_variable_by_name("fc/weight"); }),
            "[graph] expected the name of a variable, got 'fc/weight'. Did you mean 'fc/weights'?");
}

TEST_F(GraphTest, NameScopesPrefixOpsAndReopenWithASuffix) {
  const Variable a = var("a");
  {
    const NameScope block("block");
    EXPECT_EQ(add(a, a, "y").name(), "block/y");
  }
  {
    const NameScope block("block");
    EXPECT_EQ(add(a, a, "y").name(), "block_1/y");
  }
}

TEST_F(GraphTest, AddingToAFinalisedGraphNamesTheOp) {
  const Variable a = var("a");
  graph.finalize();
  EXPECT_NE(error_of([&] { add(a, a, "late"); }).find("[Add 'late'] expected a graph that is still being defined"),
            std::string::npos);
}

TEST_F(GraphTest, AnUnknownNameShowsTheNearestOnes) {
  var("conv0_W");
  EXPECT_NE(error_of([&] { graph.get_tensor_by_name("conv0_X"); }).find("'conv0_W'"), std::string::npos);
}

TEST_F(GraphTest, AnOutputIsNamedByItsNumberAndNothingElse) {
  const Tensor x = var("x").value();
  Node* both = add_op(find_op("BatchNorm"), {var("b", {2, 3}), var("g", {3}), var("h", {3})},
                      {.name = "bn", .attributes = {{"epsilon", 0.}, {"axis", std::int64_t{1}}}});
  EXPECT_EQ(graph.get_tensor_by_name("bn:2"), both->output(2));
  EXPECT_EQ(graph.get_tensor_by_name("bn:0"), both->output(0));
  EXPECT_EQ(graph.get_tensor_by_name("x:0"), x);
  for (const char* name : {"x:1abc", "bn:1abc", "bn:3", "bn:-1", "bn:", "bn:+1", "bn: 1", "bn:1:1", ":0", ""})
    EXPECT_NE(error_of([&] {
                graph.get_tensor_by_name(name);
              }).find("[graph] expected the name of a tensor, got '" + std::string(name) + "'."),
              std::string::npos)
        << name;
}

TEST_F(GraphTest, HandlesPrintTheirNameTypeAndShape) {
  const Variable w = var("fc/W", {3, 10});
  const Tensor y = add(w, w.assign(w), "y");
  EXPECT_EQ(to_string(y), "'y' f32 [3, 10]");
  EXPECT_EQ(to_string(w), "'fc/W' f32 [3, 10]");
  EXPECT_EQ(to_string(Operation(y)),
            "Add 'y' ('fc/W' f32 [3, 10], 'Assign' f32 [3, 10]) -> (f32 [3, 10]) (made at graph_test.cc:" +
                std::to_string(__LINE__ - 5) + ")");
  EXPECT_EQ(to_string(Tensor()), "(no tensor)");
  EXPECT_EQ(to_string(Operation()), "(no operation)");
  EXPECT_EQ(to_string(Variable()), "(no variable)");
}

TEST_F(GraphTest, VariablesAreSharedUnderReuseOnly) {
  {
    const VariableScope s("fc");
    EXPECT_EQ(var("W").name(), "fc/W");
  }
  {
    const VariableScope s("fc");
    EXPECT_NE(error_of([] { var("W"); }).find("[get_variable 'fc/W'] expected a new variable"), std::string::npos);
  }
  {
    const VariableScope s("fc", {.reuse = Reuse::yes});
    var("W");
    EXPECT_NE(error_of([] { var("V"); }).find("[get_variable 'fc/V'] expected a variable that exists"),
              std::string::npos);
    EXPECT_NE(error_of([] { var("W", {7}); }).find("expected f32 [2, 3] as when it was created, got f32 [7]"),
              std::string::npos);
  }
  {
    const VariableScope s("fc", {.reuse = Reuse::automatic});
    var("W");
    var("V");
  }
  EXPECT_EQ(graph.variables().size(), 2u);
}

TEST_F(GraphTest, ReuseIsInheritedAndBelongsToOneOpening) {
  {
    const VariableScope s("a");
    const VariableScope t("b");
    var("W");
  }
  const VariableScope outer("a", {.reuse = Reuse::yes});
  {
    const VariableScope inner("b");
    EXPECT_EQ(var("W").name(), "a/b/W");
  }
}

TEST_F(GraphTest, VariableNamesIgnoreNameScopes) {
  const NameScope n("tower1");
  const VariableScope s("fc");
  EXPECT_EQ(var("W").name(), "fc/W");
  EXPECT_EQ(add(1.f, 2.f, "y").name(), "tower1/fc/y");
}

TEST_F(GraphTest, NewVariableIsAlwaysNewAndNeverTrainable) {
  const VariableScope s("bn", {.reuse = Reuse::automatic});
  const Variable a = new_variable("mean", {.shape = {3}}), b = new_variable("mean", {.shape = {3}});
  EXPECT_EQ(a.name(), "bn/mean");
  EXPECT_EQ(b.name(), "bn/mean_1");
  EXPECT_FALSE(a.trainable());
  EXPECT_TRUE(graph.collections().variables(collection::kTrainableVariables).empty());
}

TEST_F(GraphTest, CustomGettersFreezeAndRemap) {
  const VariableScope frozen("f", {.custom_getter = freeze_getter()});
  const Variable w = var("W");
  EXPECT_FALSE(w.trainable());
  const VariableScope doubled("d", {.custom_getter = remap_getter([](const Tensor& t) { return t * 2.f; })});
  const Variable v = var("V");
  EXPECT_FALSE(v.trainable());  // the outer getter still applies
  EXPECT_EQ(Operation(v.value()).type(), "Mul");
}

TEST_F(GraphTest, FrozenCollectionsForgetWhatIsAddedInside) {
  var("a");
  {
    const CollectionFreeze freeze(graph.collections());
    var("b");
    EXPECT_EQ(graph.collections().size(collection::kTrainableVariables), 2u);
  }
  EXPECT_EQ(graph.collections().size(collection::kTrainableVariables), 1u);
}

TEST_F(GraphTest, ACollectionKnowsItsVariables) {
  const Variable a = var("a"), b = var("b");
  Collections& collections = graph.collections();
  collections.add("mine", a);
  collections.add("mine", b.handle());  // a tensor, not the variable
  EXPECT_TRUE(collections.contains("mine", a.with_value(exp(a))));
  EXPECT_FALSE(collections.contains("mine", b));
  EXPECT_FALSE(collections.contains("other", a));
  {
    const CollectionFreeze freeze(collections, {"mine"});
    collections.add("mine", b);
    EXPECT_TRUE(collections.contains("mine", b));
  }
  EXPECT_FALSE(collections.contains("mine", b));
  EXPECT_TRUE(collections.contains("mine", a));
}

TEST_F(GraphTest, ControlDependenciesAndDevicesAreRecorded) {
  const Variable a = var("a", {});
  const Tensor first = a.assign_add(1.f);
  const ControlDependencies after({first});
  const DeviceScope device("cpu:1");
  const Tensor read = a.read();
  EXPECT_EQ(read.node()->control_inputs, std::vector<Node*>{first.node()});
  EXPECT_EQ(read.node()->device, "cpu:1");
  EXPECT_EQ(error_of([] { DeviceScope("gpu:0"); }),
            "[Device] expected a kind of device that this program has, got \"gpu:0\" (at graph_test.cc:" +
                std::to_string(__LINE__ - 2) + "). It has: cpu.");
  EXPECT_EQ(error_of([] { DeviceScope("cpu"); }),
            "[Device] expected a kind and a number, such as \"cpu:0\", got \"cpu\" (at graph_test.cc:" +
                std::to_string(__LINE__ - 2) + ").");
}

TEST_F(GraphTest, AnOpBesideATensorIsOnItsDeviceUnlessAScopeSaysOtherwise) {
  const Variable a = var("a", {});
  const auto on = [](const char* device, const Variable& v) {
    const DeviceScope scope(device);
    return v.read();
  };
  const auto device_beside = [&](const Tensor& t) {
    const DeviceScope scope = DeviceScope::beside(t);
    return a.read().node()->device;
  };
  const Tensor far = on("cpu:2", a), here = on("", a);
  EXPECT_EQ(device_beside(far), "cpu:2");
  EXPECT_EQ(device_beside(here), "");
  const DeviceScope device("cpu:1");
  EXPECT_EQ(device_beside(far), "cpu:1");
}

TEST_F(GraphTest, ControlDependenciesTakeTensorsAndRefuseWhatIsNotThere) {
  const Variable a = var("a", {});
  const Tensors steps{a.assign_add(1.f), a * 2.f};
  {
    const ControlDependencies after(steps);
    EXPECT_EQ(a.read().node()->control_inputs, (std::vector<Node*>{steps[0].node(), steps[1].node()}));
  }
  const std::string line = std::to_string(__LINE__ + 1);
  EXPECT_EQ(error_of([] { const ControlDependencies after({Tensor()}); }),
            "[ControlDependencies] expected operations, got an empty handle (at graph_test.cc:" + line +
                "). An unconnected gradient is empty: test it first.");
  Graph other;
  const GraphScope inner(other);
  EXPECT_NE(error_of([&] {
              const ControlDependencies after(steps);
            }).find("[ControlDependencies] expected operations of the current graph, got 'AssignAdd' of another graph"),
            std::string::npos);
}

TEST_F(GraphTest, GradientsAreOpsAndEmptyWhereNothingFlows) {
  const Variable a = var("a"), b = var("b");
  const Tensors g = gradients(square(a), std::vector<Variable>{a, b});
  EXPECT_EQ(g[0].shape(), Shape({2, 3}));
  EXPECT_FALSE(g[1]);
  EXPECT_TRUE(gradients({g[0]}, {a.handle()})[0]);  // and again
}

TEST_F(GraphTest, CustomGradientReplacesTheDerivative) {
  const Variable a = var("a");
  const Tensors y = custom_gradient(
      {a}, [](const Tensors& in) { return Tensors{exp(in[0])}; },
      [](const Tensors&, const Tensors&, const Tensors& dy) { return Tensors{multiply(dy[0], 3.f, "mine")}; });
  const Tensors g = gradients(y, {a.handle()});
  EXPECT_EQ(g[0].name(), "gradients/mine");
}

TEST_F(GraphTest, OperandsOfAnotherGraphAreRefused) {
  Graph other;
  const Variable a = var("a");
  const GraphScope inner(other);
  EXPECT_NE(error_of([&] { add(a, 1.f); }).find("of another graph"), std::string::npos);
}

}  // namespace
}  // namespace belfry
