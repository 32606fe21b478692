// Initial values that use other variables: those are initialised first.
#include "belfry/graph/internal/initialization.h"

#include <gtest/gtest.h>

#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/random.h"
#include "belfry/session/session.h"

namespace belfry {
namespace {

class InitializationTest : public testing::Test {
 protected:
  static Variable number(const char* name, double value) {
    return get_variable(name, {.initializer = [value](const Shape& s, DType d) { return fill(s, value, d); }});
  }
  // A variable that starts as `value`.
  static Variable from(const char* name, const std::function<Tensor()>& value) {
    return get_variable(name, {.initializer = [value](const Shape&, DType) { return value(); }});
  }

  Graph graph;
  GraphScope scope{graph};
};

TEST_F(InitializationTest, AnInitialValueMayUseOtherVariables) {
  const Variable a = number("a", 3), b = from("b", [&] { return a * 2.f; }), c = from("c", [&] { return a + b + 1.f; });
  Session session(graph);
  session.initialize();
  EXPECT_EQ(session.value(a).item(), 3);
  EXPECT_EQ(session.value(b).item(), 6);
  EXPECT_EQ(session.value(c).item(), 10);
}

TEST_F(InitializationTest, ACopyOfARandomValueIsTheSameNumber) {
  const Variable w = get_variable("w", {.initializer = [](const Shape& s, DType) { return random_normal(s, {}); }});
  const Variable copy = from("copy", [&] { return identity(w); });
  Session session(graph);
  session.initialize();
  EXPECT_EQ(session.value(copy).item(), session.value(w).item());
}

TEST_F(InitializationTest, WhatHasAValueAlreadyIsUsedAsItIs) {
  const Variable a = number("a", 3), b = from("b", [&] { return a * 2.f; });
  Session session(graph);
  session.set_value(a, 10.f);  // loaded from a checkpoint, say
  session.initialize();
  EXPECT_EQ(session.value(b).item(), 20);
  session.initialize(true);
  EXPECT_EQ(session.value(a).item(), 3);
  EXPECT_EQ(session.value(b).item(), 6);
}

TEST_F(InitializationTest, IndependentVariablesAreOneGroup) {
  const Variable a = number("a", 1), b = number("b", 2), c = from("c", [&] { return a * 2.f; }), d = number("d", 4),
                 e = from("e", [&] { return c * d; });
  const std::vector<std::vector<Variable>> expected{{a, b, d}, {c}, {e}};
  EXPECT_EQ(initialization_order(graph), expected);
}

TEST_F(InitializationTest, WithoutVariablesThereIsNothingToDo) {
  EXPECT_TRUE(initialization_order(graph).empty());
  Session(graph).initialize();
}

}  // namespace
}  // namespace belfry
