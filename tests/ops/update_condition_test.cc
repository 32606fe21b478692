#include "belfry/graph/update_condition.h"

#include <gtest/gtest.h>

#include "belfry/belfry.h"

namespace belfry {
namespace {

class UpdateConditionTest : public testing::Test {
 protected:
  static Variable var(const char* name, const Shape& shape, double value, DType dtype = f32) {
    return get_variable(name,
                        {.shape = shape, .dtype = dtype, .initializer = init::constant(value), .trainable = false});
  }
  Graph graph;
  GraphScope scope{graph};
  Tensor on = placeholder(boolean, {});
};

TEST_F(UpdateConditionTest, UpdatesHappenWhereItHoldsAndGiveTheVariableAsItIsThen) {
  const Variable a = var("a", {3}, 1), b = var("b", {3}, 1), c = var("c", {3}, 1);
  Tensor more, set, other = c.assign_add(fill({3}, 1));
  {
    const UpdateCondition when(on);
    more = a.assign_add(fill({3}, 10));
    set = b.assign(a * 2.f);
  }
  const Tensor outside = more + set;
  Session session(graph);
  session.initialize();
  const auto off_run = session.run({more, set, outside, other}, {{on, Array(false)}});
  EXPECT_EQ(off_run[0].item(2), 1);
  EXPECT_EQ(off_run[1].item(2), 1);
  EXPECT_EQ(off_run[2].item(2), 2);
  EXPECT_EQ(off_run[3].item(2), 2);
  EXPECT_EQ(session.value(a).item(), 1);
  const auto on_run = session.run({more, set, outside, other}, {{on, Array(true)}});
  EXPECT_EQ(on_run[0].item(2), 11);
  EXPECT_EQ(on_run[1].item(2), 2);
  EXPECT_EQ(on_run[2].item(2), 13);
  EXPECT_EQ(on_run[3].item(2), 3);
  EXPECT_EQ(session.value(b).item(), 2);
}

TEST_F(UpdateConditionTest, ANestedOneNeedsBoth) {
  const Tensor too = placeholder(boolean, {});
  const Variable a = var("a", {}, 0);
  Tensor more;
  {
    const UpdateCondition outer(on);
    const UpdateCondition inner(too);
    more = a.assign_add(1.f);
  }
  Session session(graph);
  session.initialize();
  double expected = 0;
  for (const bool x : {true, false, true, false})
    for (const bool y : {true, false}) {
      expected += x && y;
      EXPECT_EQ(session.run(more, {{on, Array(x)}, {too, Array(y)}}).item(), expected) << x << y;
    }
}

TEST_F(UpdateConditionTest, AReadBehindTheUpdateSeesWhatItLeft) {
  const Variable a = var("a", {4}, 1);
  Operation set;
  {
    const UpdateCondition when(on);
    set = a.assign(fill({4}, 5));
  }
  const ControlDependencies after({set});
  const Tensor late = a * 1.f, early = a.value() * 1.f;
  Session session(graph);
  session.initialize();
  for (const bool x : {false, true}) {
    const auto out = session.run({late, early}, {{on, Array(x)}});
    EXPECT_EQ(out[0].item(3), x ? 5 : 1);
    EXPECT_EQ(out[1].item(3), 1);
  }
}

TEST_F(UpdateConditionTest, AUsersUpdateIsSkippedTooAndItsReadersSeeTheVariable) {
  static const OpRegistration twice = define_op("UpdateConditionTestTwice")
                                          .input("variable")
                                          .output("new_value")
                                          .updates(0)
                                          .shape([](const ShapeContext& c) { return c.input(0); })
                                          .not_differentiable()
                                          .kernel([](std::span<const Array> in, std::span<Array> out) {
                                            for (std::size_t i = 0; i < 2; ++i)
                                              out[0].values<float>()[i] = in[0].values<float>()[i] * 2;
                                          })
                                          .doc("Doubles a variable.");
  const Variable a = var("a", {2}, 3);
  Tensor doubled;
  {
    const UpdateCondition when(on);
    doubled = add_tensor(twice, {a});
  }
  const Tensor reader = doubled + 1.f;
  Session session(graph);
  session.initialize();
  EXPECT_EQ(session.run(reader, {{on, Array(false)}}).item(), 4);
  EXPECT_EQ(session.value(a).item(), 3);
  EXPECT_EQ(session.run(reader, {{on, Array(true)}}).item(), 7);
  EXPECT_EQ(session.value(a).item(1), 6);
}

TEST_F(UpdateConditionTest, ADevicesUpdateWaitsForAConditionOfAnother) {
  Variable a;
  Tensor more;
  {
    const UpdateCondition when(logical_not(on));
    const DeviceScope second("cpu:1");
    a = var("a", {100}, 0);
    more = a.assign_add(fill({100}, 1));
  }
  Session session(graph, {.devices = {{1}, {1}}});
  session.initialize();
  double expected = 0;
  for (int i = 0; i < 20; ++i) {
    const bool x = i % 3 == 0;
    expected += !x;
    EXPECT_EQ(session.run(more, {{on, Array(x)}}).item(99), expected) << i;
  }
}

TEST_F(UpdateConditionTest, AVariableThatMayStayAsItIsNeedsAValueFirst) {
  const Variable a = var("a", {}, 1);
  Operation set;
  {
    const UpdateCondition when(on);
    set = a.assign(2.f);
  }
  Session session(graph);
  EXPECT_THROW(session.run(set, {{on, Array(true)}}), Error);
  session.initialize();
  session.run(set, {{on, Array(true)}});
  EXPECT_EQ(session.value(a).item(), 2);
}

TEST_F(UpdateConditionTest, ExplainAndJsonNameTheFlagAndCheckpointsDoNotHoldIt) {
  const Variable a = var("a", {}, 1);
  Operation set;
  {
    const UpdateCondition when(on);
    set = a.assign(2.f);
  }
  Session session(graph);
  session.initialize();
  EXPECT_NE(session.explain({set}, {{on, Array(true)}}).find("if 'update_condition'"), std::string::npos);
  EXPECT_NE(to_json(graph).find("\"conditions\""), std::string::npos);
  EXPECT_EQ(graph.collections().variables(collection::kGlobalVariables).size(), 1u);
}

TEST_F(UpdateConditionTest, AnythingButABoolScalarIsAnError) {
  const auto text = [](const Tensor& condition) -> std::string {
    try {
      const UpdateCondition when(condition);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(text(constant(1.f, "one")).find("[UpdateCondition] expected a bool scalar, got 'one' f32 [] (at "), 0u);
  EXPECT_NE(text(Tensor()).find("expected a bool scalar, got (no tensor)"), std::string::npos);
}

}  // namespace
}  // namespace belfry
