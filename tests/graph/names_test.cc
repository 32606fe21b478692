// What names may look like: one rule for all.
#include <gtest/gtest.h>

#include "belfry/base/error.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/graph/variable_scope.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/pointwise.h"
#include "tests/support/errors.h"

namespace belfry {
namespace {

class NamesTest : public testing::Test {
 protected:
  static std::string rule(const std::string& title, const std::string& name, int line) {
    return title + " expected a name of letters, digits, '_', '-', '.' and single '/' between them, got '" + name +
           "' (at names_test.cc:" + std::to_string(line) + "). Choose another name.";
  }

  Graph graph;
  GraphScope scope{graph};
};

const char* const kBad[] = {"a b", "/a", "a/", "a//b", "a:1", "a\n", "\"a\"", "caf\xc3\xa9"};

TEST_F(NamesTest, EveryNameFollowsOneRuleAndTheErrorHasTheLine) {
  const Tensor x = constant(1.f);
  for (const std::string name : kBad) {
    EXPECT_EQ(error_of([&] { exp(x, name); }), rule("[Exp '" + name + "']", name, __LINE__));
    EXPECT_EQ(error_of([&] { constant(1.f, name); }), rule("[Constant '" + name + "']", name, __LINE__));
    EXPECT_EQ(error_of([&] { NameScope s(name); }), rule("[NameScope '" + name + "']", name, __LINE__));
    EXPECT_EQ(error_of([&] { NameScope::at(name); }), rule("[NameScope '" + name + "']", name, __LINE__));
    EXPECT_EQ(error_of([&] { VariableScope s(name); }), rule("[VariableScope '" + name + "']", name, __LINE__));
    EXPECT_EQ(error_of([&] { get_variable(name, {}); }), rule("[get_variable '" + name + "']", name, __LINE__));
    EXPECT_EQ(error_of([&] { new_variable(name, {}); }), rule("[new_variable '" + name + "']", name, __LINE__));
    EXPECT_EQ(error_of([&] { define_op(name); }), rule("[define_op '" + name + "']", name, __LINE__));
  }
  EXPECT_EQ(graph.operations().size(), 1u);
}

TEST_F(NamesTest, ScopesAndVariablesNeedOne) {
  EXPECT_EQ(error_of([] { NameScope s(""); }), rule("[NameScope '']", "", __LINE__));
  EXPECT_EQ(error_of([] { VariableScope s(""); }), rule("[VariableScope '']", "", __LINE__));
  EXPECT_EQ(error_of([] { get_variable("", {}); }), rule("[get_variable '']", "", __LINE__));
  EXPECT_EQ(error_of([] { new_variable("", {}); }), rule("[new_variable '']", "", __LINE__));
}

TEST_F(NamesTest, TheErrorOfAnOpShowsItsFullName) {
  const NameScope block("block");
  EXPECT_EQ(error_of([] { constant(1.f, "a b"); }), rule("[Constant 'block/a b']", "a b", __LINE__));
}

TEST_F(NamesTest, WhatTheRuleAllowsWorks) {
  const NameScope block("conv-1.0_b/inner");
  const VariableScope layer("0.layer-x/y_Z");
  EXPECT_EQ(constant(1.f, "v-1.5/x_2").name(), "conv-1.0_b/inner/0.layer-x/y_Z/v-1.5/x_2");
  EXPECT_EQ(get_variable("mean/EMA", {}).name(), "0.layer-x/y_Z/mean/EMA");
}

}  // namespace
}  // namespace belfry
