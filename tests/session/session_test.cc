#include "belfry/session/session.h"

#include <gtest/gtest.h>

#include "belfry/graph/gradients.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/graph/variable_scope.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/conv.h"
#include "belfry/ops/matmul.h"
#include "belfry/ops/pointwise.h"
#include "tests/session/session_testing.h"

namespace belfry {
namespace {

Initializer filled(float value) {
  return [value](const Shape& shape, DType dtype) { return constant(Array::full(dtype, shape, value)); };
}

class SessionTest : public testing::Test {
 protected:
  Variable var(const char* name, Shape shape, float value) {
    return get_variable(name, {.shape = shape, .initializer = filled(value)});
  }
  Graph graph;
  GraphScope scope{graph};
};

TEST_F(SessionTest, RunsWhatIsFetchedWithWhatIsFed) {
  const Tensor x = placeholder({"x", f32, {kAny, 2}});
  const Variable w = var("w", {2, 3}, 2.f);
  const Tensor y = matmul(x, w) + 1.f;
  Session session(graph);
  session.initialize();
  const Array out = session.run(y, {{x, Array::of<float>({1, 2}, {1, 2})}});
  EXPECT_EQ(out.shape(), Shape({1, 3}));
  EXPECT_FLOAT_EQ(out.values<float>()[0], 7.f);
  EXPECT_EQ(session.run(y, {{x, Array::full(f32, {5, 2}, 1)}}).shape(), Shape({5, 3}));  // another shape, another plan
}

TEST_F(SessionTest, GradientDescentOnASquareConverges) {
  const Variable w = var("w", {4}, 3.f);
  const Tensor cost = square(w - 1.f);
  const Tensor g = gradients(cost, std::vector<Variable>{w})[0];
  const Tensor step = w.assign_sub(g * 0.25f);
  Session session(graph);
  session.initialize();
  for (int i = 0; i < 30; ++i) session.run(Operation(step));
  EXPECT_NEAR(session.value(w).item(0), 1.0, 1e-6);
}

TEST_F(SessionTest, AReadSeesTheValueAtTheStartOfTheRun) {
  const Variable v = var("v", {}, 1.f);
  const Tensor next = v.assign_add(1.f);
  const Tensor twice = v * 2.f;
  Session session(graph);
  session.initialize();
  const auto out = session.run({next, twice, v});
  EXPECT_EQ(out[0].item(), 2);
  EXPECT_EQ(out[1].item(), 2);
  EXPECT_EQ(out[2].item(), 1);
  EXPECT_EQ(session.value(v).item(), 2);
}

TEST_F(SessionTest, AReadAfterAnAssignmentOnAControlPathSeesTheNewValue) {
  const Variable v = var("v", {}, 1.f);
  const Tensor next = v.assign(5.f);
  Tensor after;
  {
    const ControlDependencies control({next});
    after = v.read() * 1.5f;
  }
  Session session(graph);
  session.initialize();
  EXPECT_EQ(session.run(after).item(), 7.5);
}

TEST_F(SessionTest, AReaderThatNeedsTheOldValueAfterAnAssignmentGetsASnapshot) {
  const Variable v = var("v", {3}, 1.f);
  const Tensor next = v.assign(v + 4.f);
  const Tensor difference = next - v;  // needs both the new and the old value
  Session session(graph);
  session.initialize();
  EXPECT_EQ(session.run(difference).item(2), 4);
  EXPECT_EQ(session.value(v).item(0), 5);
}

TEST_F(SessionTest, UnorderedAssignmentsAreAnErrorThatNamesBoth) {
  const Variable v = var("v", {}, 1.f);
  const Tensor a = v.assign(2.f), b = v.assign_add(3.f);
  Session session(graph);
  session.initialize();
  const std::string text = error_of([&] { session.run({a, b}); });
  EXPECT_NE(text.find("[Variable 'v'] expected ordered assignments in one run, got [Assign 'Assign']"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("[AssignAdd 'AssignAdd']"), std::string::npos) << text;
  EXPECT_EQ(session.run(a).item(), 2);  // the session is usable afterwards
}

TEST_F(SessionTest, OrderedAssignmentsRunInThatOrderAndKeepTheirResults) {
  const Variable v = var("v", {}, 1.f);
  const Tensor a = v.assign(10.f);
  Tensor b;
  {
    const ControlDependencies control({a});
    b = v.assign_add(3.f);
  }
  Session session(graph);
  session.initialize();
  const auto out = session.run({b, a * 1.f + 0.5f});
  EXPECT_EQ(out[0].item(), 13);
  EXPECT_EQ(out[1].item(), 10.5);
}

TEST_F(SessionTest, MistakesAreClearErrorsAndTheSessionStaysUsable) {
  const Tensor x = placeholder({"image", f32, {kAny, 2}});
  const Variable w = var("w", {2}, 1.f);
  const Tensor y = add(x, w, "logits");
  Session session(graph);
  EXPECT_NE(error_of([&] {
              session.run(y, {{x, Array::zeros(f32, {1, 2})}});
            }).find("[Variable 'w'] expected a value before it is read"),
            std::string::npos);
  session.initialize();
  EXPECT_NE(error_of([&] { session.run(y); }).find("[Placeholder 'image'] expected a value to be fed, got none"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              session.run(y, {{x, Array::zeros(f32, {1, 3})}});
            }).find("expected f32 [?, 2] for 'image', got f32 [1, 3]"),
            std::string::npos);
  EXPECT_NE(error_of([&] { session.run(y, {{x, Array::zeros(i32, {1, 2})}}); }).find("got i32 [1, 2]"),
            std::string::npos);
  EXPECT_NE(error_of([&] { session.run("logit"); }).find("Did you mean 'logits'"), std::string::npos);
  EXPECT_EQ(session.run("logits", {{x, Array::zeros(f32, {1, 2})}}).item(), 1);
}

TEST_F(SessionTest, AnyTensorCanBeFed) {
  const Variable w = var("w", {}, 2.f);
  const Tensor middle = w * 3.f, y = middle + 1.f;
  Session session(graph);
  session.initialize();
  EXPECT_EQ(session.run(y, {{middle, Array(10.f)}}).item(), 11);
}

TEST_F(SessionTest, DevicesRunTheirStreamsAndMeetWhereDataCrosses) {
  Tensors parts;
  const Variable w = var("w", {64, 64}, 0.01f);
  for (int d = 0; d < 2; ++d) {
    const DeviceScope device("cpu:" + std::to_string(d));
    Tensor x = w + static_cast<float>(d);
    for (int i = 0; i < 10; ++i) x = matmul(x, w) + 0.5f;
    parts.push_back(x);
  }
  const Tensor total = parts[0] + parts[1];
  Session two(graph, {.devices = {{1}, {1}}});
  two.initialize();
  const Array first = two.run(total);
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(equal(first, two.run(total)));
  EXPECT_NE(error_of([&] {
              Session one(graph);
              one.run(total);
            }).find("expected a device of the session (cpu:0), got cpu:1"),
            std::string::npos);
}

TEST_F(SessionTest, AnEmptyTensorIsNotTakenForANumber) {
  const Variable w = var("w", {2}, 1.f), unrelated = var("unrelated", {2}, 1.f);
  const Tensor none = gradients(square(w), std::vector<Variable>{unrelated})[0];
  EXPECT_NE(
      error_of([&] { add(w, none, "sum"); }).find("[Add 'sum'] expected input 1 to be a tensor, got an empty one"),
      std::string::npos);
}

TEST_F(SessionTest, AConvolutionOfConstantsGivesItsValue) {
  const Tensor y = conv2d(constant(Array::full(f32, {1, 4, 4, 2}, 1)), constant(Array::full(f32, {3, 3, 2, 5}, 1)),
                          {.padding = Padding::valid});
  Session session(graph);
  EXPECT_EQ(session.run(y).item(7), 18);
}

TEST_F(SessionTest, AFedTensorCountsAsDoneForControlEdgesAndAsATarget) {
  const Tensor x = placeholder({"x", f32, {2}});
  Tensor y;
  {
    const ControlDependencies after({x});
    y = constant(Array(1.f)) + 1.f;
  }
  Session session(graph);
  const Feeds feeds{{x, Array::zeros(f32, {2})}};
  EXPECT_EQ(session.run(y, feeds).item(), 2);
  session.run(Operation(x), feeds);
}

TEST_F(SessionTest, AVariableThatTheRunItselfAssignsNeedsNoInitialValue) {
  const Variable v = var("v", {}, 1.f);
  const Tensor set = v.assign(4.f);
  Session session(graph);
  EXPECT_EQ(session.run(set).item(), 4);
  EXPECT_NE(error_of([&] {
              Session other(graph);
              other.run(v.assign_add(1.f));
            }).find("expected a value before it is read"),
            std::string::npos);
}

TEST_F(SessionTest, AConstantIsACopyOfItsArray) {
  Array a = Array::full(f32, {2}, 3);
  const Tensor y = constant(a) * 1.5f;
  a.values<float>()[0] = 100;
  Session session(graph);
  EXPECT_EQ(session.run(y).item(), 4.5);
}

TEST_F(SessionTest, AUsersUpdateReachesAVariableInABlockedLayout) {
  static const OpRegistration twice = define_op("TestTwice")
                                          .input("variable")
                                          .output("new_value")
                                          .updates(0)
                                          .not_differentiable()
                                          .shape([](const ShapeContext& c) { return c.input(0); })
                                          .kernel([](std::span<const Array> in, std::span<Array> out) {
                                            for (std::size_t i = 0; i < in[0].values<float>().size(); ++i)
                                              out[0].values<float>()[i] = 2 * in[0].values<float>()[i];
                                          })
                                          .doc("Doubles a variable.");
  const Variable w = var("w", {3, 3, 16, 16}, 0.5f);
  const Tensor y = conv2d(constant(Array::full(f32, {1, 8, 8, 16}, 1)), w);
  const Tensor doubled = add_tensor(twice, {w.handle()});
  Session session(graph);
  session.initialize();
  const double before = session.run(y).item(200);  // decides the weights' layout
  EXPECT_EQ(session.run(doubled).item(7), 1);
  EXPECT_EQ(session.value(w).item(100), 1);
  EXPECT_EQ(session.run(y).item(200), 2 * before);
}

TEST_F(SessionTest, AFractionBesideIntegersIsRefused) {
  const Tensor x = placeholder({"x", i32, {2}});
  EXPECT_NE(error_of([&] { (void)(x * 0.5f); }).find("expected a whole number beside a tensor of i32, got 0.5"),
            std::string::npos);
}

TEST_F(SessionTest, OpsOfDifferentDevicesAreNotFused) {
  const Variable w = var("w", {8, 8}, 1.f), b = var("b", {8}, 1.f);
  const Tensor product = matmul(w, w);
  Tensor y;
  {
    const DeviceScope device("cpu:1");
    y = relu(product + b);
  }
  Session two(graph, {.devices = {{1}, {1}}});
  two.initialize();
  EXPECT_EQ(two.run(y).item(), 9);
  EXPECT_EQ(two.explain({y}).find("FusedMatMul"), std::string::npos);
}

TEST_F(SessionTest, AUserKernelThatReplacesItsOutputStillGivesIt) {
  static const OpRegistration pass =
      define_op("TestPass")
          .input("x")
          .output("y")
          .not_differentiable()
          .shape([](const ShapeContext& c) { return c.input(0); })
          .kernel([](std::span<const Array> in, std::span<Array> out) { out[0] = in[0]; })
          .doc("x");
  const Variable w = var("w", {3}, 5.f);
  const Tensor y = add_tensor(pass, {w}) + 1.f;
  Session session(graph);
  session.initialize();
  EXPECT_EQ(session.run(y).item(2), 6);
  EXPECT_EQ(session.run(y).item(2), 6);
}

TEST_F(SessionTest, AFailedVariableLeavesItsNameFree) {
  EXPECT_NE(error_of([] {
              get_variable("v",
                           {.shape = {2}, .initializer = [](const Shape&, DType) { return constant(Array(1.f)); }});
            }).find("expected an initial value of f32 [2], got f32 []"),
            std::string::npos);
  EXPECT_EQ(var("v", {2}, 1.f).name(), "v");
}

TEST_F(SessionTest, AScopeKeepsItsNameWhileAnotherIsOpenInside) {
  const VariableScope outer("a"), inner("b");
  EXPECT_EQ(outer.name(), "a");
  EXPECT_EQ(inner.name(), "a/b");
}

TEST_F(SessionTest, ANumberMayBeSetAsADouble) {
  const Variable rate = var("rate", {}, 1.f);
  Session session(graph);
  session.initialize();
  session.set_value(rate, 0.25);
  EXPECT_EQ(session.value(rate).item(), 0.25);
}

TEST_F(SessionTest, ExplainListsInstructionsAndTotals) {
  const Variable w = var("w", {2, 2}, 1.f);
  const Tensor y = matmul(w, w, {}, "product");
  Session session(graph);
  session.initialize();
  const std::string text = session.explain({y});
  EXPECT_NE(text.find("MatMul"), std::string::npos);
  EXPECT_NE(text.find("'product'"), std::string::npos);
  EXPECT_NE(text.find("GFLOP"), std::string::npos);
}

}  // namespace
}  // namespace belfry
