#include "belfry/graph/variable_scope.h"

#include <gtest/gtest.h>

#include <functional>

#include "belfry/base/error.h"
#include "belfry/graph/graph.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/pointwise.h"
#include "tests/support/errors.h"

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

// The remedies that the errors name, followed to the letter.
TEST(VariableScope, TheErrorAboutAnExistingVariableSaysHowToShareIt) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable made = w();
  const std::string text = error_of([] { w(); });
  EXPECT_TRUE(
      text.starts_with("[get_variable 'W'] expected a new variable, got one that exists already (made at "
                       "variable_scope_test.cc:"))
      << text;
  EXPECT_NE(text.find("Choose another name or, to share it, enter VariableScope::reopen({.reuse = Reuse::yes}) "
                      "first; after a failed attempt, Reuse::automatic finds what exists and makes the rest "
                      "(variable scope '', name scope '', at variable_scope_test.cc:"),
            std::string::npos)
      << text;
  for (const Reuse reuse : {Reuse::yes, Reuse::automatic}) {
    const auto shared = VariableScope::reopen({.reuse = reuse});
    EXPECT_EQ(w(), made);
  }
}

TEST(VariableScope, TheErrorAboutAMissingVariableShowsNearNamesAndSaysHowToMakeIt) {
  Graph graph;
  const GraphScope scope(graph);
  const Variable weights = get_variable("weights", {.shape = {2}});
  const auto shared = VariableScope::reopen({.reuse = Reuse::yes});
  const std::string text = error_of([] { get_variable("weight", {.shape = {2}}); });
  EXPECT_TRUE(text.starts_with("[get_variable 'weight'] expected a variable that exists, got none under reuse."))
      << text;
  EXPECT_NE(text.find("'weights'"), std::string::npos) << text;
  EXPECT_NE(text.find("Create it first, or enter VariableScope::reopen({.reuse = Reuse::automatic}) to make what is "
                      "missing (variable scope '', name scope '', at variable_scope_test.cc:"),
            std::string::npos)
      << text;
  const auto either = VariableScope::reopen({.reuse = Reuse::automatic});
  EXPECT_EQ(get_variable("weight", {.shape = {2}}).name(), "weight");
  EXPECT_EQ(get_variable("weights", {.shape = {2}}), weights);
}

}  // namespace
}  // namespace belfry
