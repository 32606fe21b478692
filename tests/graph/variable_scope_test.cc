#include "belfry/graph/variable_scope.h"

#include <gtest/gtest.h>

#include "belfry/base/error.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/pointwise.h"

namespace belfry {
namespace {

Variable w() {
  return get_variable(
      "W", {.shape = {2}, .initializer = [](const Shape& s, DType t) { return constant(Array::zeros(t, s)); }});
}

TEST(VariableScope, ReopeningKeepsTheNamesAndChangesTheOptions) {
  Graph graph;
  const GraphScope scope(graph);
  const VariableScope layer("layer");
  const Variable made = w();
  EXPECT_THROW(w(), Error);
  {
    const auto again = VariableScope::reopen({.reuse = Reuse::yes});
    EXPECT_EQ(again->name(), "layer");
    EXPECT_EQ(again->name_scope(), "layer");
    EXPECT_EQ(w(), made);
    EXPECT_EQ(add(made, 1.f, "y").name(), "layer/y");
  }
  EXPECT_THROW(w(), Error);
}

TEST(VariableScope, ReopeningTheRootLeavesTheRootItselfAsItWas) {
  Graph graph;
  const GraphScope scope(graph);
  {
    const auto root = VariableScope::reopen({.reuse = Reuse::yes});
    EXPECT_THROW(w(), Error);
  }
  EXPECT_EQ(get_variable_scope().reuse(), Reuse::no);
  EXPECT_EQ(w().name(), "W");
}

}  // namespace
}  // namespace belfry
