#include "belfry/graph/variable.h"
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
  const Tensor read = a.read(), before = identity(a);
  Session session(graph);
  session.initialize();
  const auto out = session.run({read, before});
  EXPECT_EQ(out[0].item(1), 11);
  EXPECT_EQ(out[1].item(1), 1);
}

}  // namespace
}  // namespace belfry
