#include "belfry/graph/gradients.h"
#include "belfry/graph/variable.h"
#include "belfry/graph/variable_scope.h"
#include "belfry/ops/pointwise.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

class StateTest : public OpTest {
 protected:
  Variable integers(const char* name) {
    return get_variable(name, {.shape = {3},
                               .dtype = i64,
                               .initializer = [](const Shape& s, DType d) { return constant(counting(s, d)); },
                               .trainable = false});
  }
  static Initializer init_number(double value) {
    return [value](const Shape& s, DType d) { return constant(Array::full(d, s, value)); };
  }
};

TEST_F(StateTest, AssignmentsChangeAVariableAndGiveItsNewValue) {
  const Variable a = integers("a"), b = integers("b"), c = integers("c");
  const Tensor ten = constant(Array::full(i64, {3}, 10));
  const Tensor set = a.assign(ten), more = b.assign_add(ten), less = c.assign_sub(ten);
  Session session(graph);
  session.initialize();
  EXPECT_EQ(session.run(set).item(2), 10);
  EXPECT_EQ(session.run(more).item(2), 12);
  EXPECT_EQ(session.run(more).item(2), 22);
  EXPECT_EQ(session.run(less).item(2), -8);
  EXPECT_EQ(session.value(a).item(0), 10);
  EXPECT_EQ(session.value(b).item(0), 20);
  EXPECT_EQ(session.value(c).item(0), -10);
}

TEST_F(StateTest, AReadAfterAnAssignmentSeesIt) {
  const Variable a = integers("a");
  const Tensor more = a.assign_add(constant(Array::full(i64, {3}, 10)));
  const ControlDependencies after({more});
  const Tensor read = a.read(), operand = a * 2, converted = a, before = identity(a.value());
  Session session(graph);
  session.initialize();
  const auto out = session.run({read, operand, converted, before});
  EXPECT_EQ(out[0].item(1), 11);
  EXPECT_EQ(out[1].item(1), 22);
  EXPECT_EQ(out[2].item(1), 11);
  EXPECT_EQ(out[3].item(1), 1);
}

TEST_F(StateTest, AnOperandSeesAnAssignmentBehindAnyPathToTheControlDependencies) {
  const Variable a = integers("a");
  const Tensor more = a.assign_add(constant(Array::full(i64, {3}, 10))), derived = more * 3;
  const Operation both = group({derived});
  const ControlDependencies after({both});
  const Tensor operand = a * 2;
  EXPECT_EQ(operand.node()->inputs[0].node()->where.line(), static_cast<unsigned>(__LINE__ - 1));
  Session session(graph);
  session.initialize();
  EXPECT_EQ(session.run(operand).item(1), 22);
}

TEST_F(StateTest, AnOperandUnderOtherControlDependenciesIsTheSharedValue) {
  const Variable a = integers("a"), b = integers("b");
  const ControlDependencies after({b.assign_add(b)});
  EXPECT_EQ((a * 2).node()->inputs[0], a.value());
  EXPECT_NE((b * 2).node()->inputs[0], b.value());
  const ClearControlDependencies lifted;
  EXPECT_EQ((b * 2).node()->inputs[0], b.value());
}

TEST_F(StateTest, GradientsFlowThroughTheReadThatAnOperandMakes) {
  const Variable w = get_variable("w", {.shape = {}, .initializer = init_number(3)});
  const Tensor set = w.assign(5.f);
  Tensor y;
  {
    const ControlDependencies after({set});
    y = w * w;
  }
  const Tensor dw = gradients(y, {w})[0];
  Session session(graph);
  session.initialize();
  EXPECT_EQ(session.run(dw).item(), 10);
}

TEST_F(StateTest, ARemappedVariableStaysWhatItsGetterMadeOfIt) {
  const auto doubled = VariableScope::reopen({.custom_getter = remap_getter([](const Tensor& t) { return t * 2.f; })});
  const Variable w = get_variable("w", {.shape = {}, .initializer = init_number(3)});
  const Tensor set = w.assign(5.f);
  const ControlDependencies after({set});
  const Tensor made_before = w + 1.f;
  const auto again = VariableScope::reopen({.reuse = Reuse::yes});
  const Tensor made_after = get_variable("w", {.shape = {}}) + 1.f;
  Session session(graph);
  session.initialize();
  const auto out = session.run({made_before, made_after});
  EXPECT_EQ(out[0].item(), 7);
  EXPECT_EQ(out[1].item(), 11);
}

const OpRegistration user_doubling = define_op("StateTestDouble")
                                         .input("variable")
                                         .output("new_value")
                                         .updates(0)
                                         .shape([](const ShapeContext& c) { return c.input(0); })
                                         .not_differentiable()
                                         .kernel([](std::span<const Array> in, std::span<Array> out) {
                                           out[0].values<float>()[0] = 2 * in[0].values<float>()[0];
                                         })
                                         .doc("Doubles a variable.");

TEST_F(StateTest, AUsersUpdateTakesTheVariableItselfUnderControlDependenciesToo) {
  const Variable w = get_variable("w", {.shape = {}, .initializer = init_number(3)});
  const Tensor set = w.assign(5.f);
  Tensor twice;
  {
    const ControlDependencies after({set});
    twice = add_tensor(user_doubling, {w});
  }
  Session session(graph);
  session.initialize();
  EXPECT_EQ(session.run(twice).item(), 10);
  EXPECT_EQ(session.value(w).item(), 10);
}

}  // namespace
}  // namespace belfry
