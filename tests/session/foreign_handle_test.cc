// Handles into graphs that are gone, or that were only tried something out on: every use is an error that says so.
#include "belfry/graph/internal/foreign_handle.h"

#include <gtest/gtest.h>

#include <memory>

#include "belfry/graph/gradients.h"
#include "belfry/graph/internal/graph_transaction.h"
#include "belfry/ops/reduce.h"
#include "tests/session/session_testing.h"

namespace belfry {
namespace {

class ForeignHandleTest : public testing_support::GraphTest {
 protected:
  // Made in a graph of their own.
  struct Handles {
    Tensor tensor;
    Variable variable;
    Operation operation;
  };
  static Handles made_in(Graph& other) {
    const GraphScope inside(other);
    const Variable v = get_variable("theirs", {.initializer = [](const Shape&, DType) { return constant(1.f); }});
    return {placeholder({"x", f32, {}}), v, group({v.assign(2.f)}, "reset")};
  }
  static Handles gone() {
    Graph other;
    return made_in(other);
  }
  Handles scratch() {
    auto other = std::make_unique<Graph>();
    other->mark_scratch({.made_in = "to try something", .remedy = "Do not keep it."});
    const Handles out = made_in(*other);
    graph.keep(std::move(other));
    return out;
  }
  // What each use of the handles says.
  std::vector<std::string> uses(const Handles& h) {
    const Variable mine = var("mine_" + std::to_string(graph.variables().size()), Array(1.f));
    Session session(graph);
    const auto control = [&] { const ControlDependencies after({h.operation}); };
    return {error_of([&] { h.tensor + 1.f; }),
            error_of([&] { mine.assign(h.tensor); }),
            error_of([&] { h.variable.assign(1.f); }),
            error_of([&] { h.variable.assign_add(mine); }),
            error_of([&] { reduce_sum(h.tensor); }),
            error_of(control),
            error_of([&] { gradients(h.tensor, {mine}); }),
            error_of([&] { gradients(mine * 2.f, {h.variable}); }),
            error_of([&] { graph.collections().add("MINE", h.tensor); }),
            error_of([&] { graph.collections().add("MINE", h.operation); }),
            error_of([&] { graph.collections().add("MINE", h.variable); }),
            error_of([&] { session.run(h.tensor); }),
            error_of([&] { session.run(h.operation); }),
            error_of([&] { session.run(h.variable); }),
            error_of([&] { session.run(mine, {{h.tensor, Array(1.f)}}); }),
            error_of([&] { session.make_callable({h.operation}); }),
            error_of([&] { session.value(h.variable); }),
            error_of([&] { session.set_value(h.variable, Array(1.f)); })};
  }
};

TEST_F(ForeignHandleTest, EveryUseOfAHandleIntoAGraphThatIsGoneSaysSo) {
  for (const std::string& text : uses(gone())) {
    EXPECT_TRUE(contains(text, "a graph that is gone") || contains(text, "whose graph is gone")) << text;
    EXPECT_TRUE(contains(text, kGraphIsGone)) << text;
  }
}

TEST_F(ForeignHandleTest, LookingIntoAHandleWhoseGraphIsGoneIsAnError) {
  const Handles h = gone();
  const std::string expected =
      "expected a handle into a graph that exists, got one whose graph is gone. A graph ends with the trainer or the "
      "block that owns it: keep the owner, or take the handle from the graph in use.";
  EXPECT_EQ(error_of([&] { (void)h.tensor.shape(); }), "[Tensor] " + expected);
  EXPECT_EQ(error_of([&] { (void)h.tensor.dtype(); }), "[Tensor] " + expected);
  EXPECT_EQ(error_of([&] { (void)h.tensor.name(); }), "[Tensor] " + expected);
  EXPECT_EQ(error_of([&] { (void)h.tensor.graph(); }), "[Tensor] " + expected);
  EXPECT_EQ(error_of([&] { (void)to_string(h.tensor); }), "[Tensor] " + expected);
  EXPECT_EQ(error_of([&] { (void)h.variable.shape(); }), "[Tensor] " + expected);
  EXPECT_EQ(error_of([&] { (void)h.variable.trainable(); }), "[Tensor] " + expected);
  EXPECT_EQ(error_of([&] { (void)h.variable.name(); }), "[Operation] " + expected);
  EXPECT_EQ(error_of([&] { (void)Tensor(h.variable); }), "[Operation] " + expected);
  EXPECT_EQ(error_of([&] { (void)h.operation.name(); }), "[Operation] " + expected);
  EXPECT_EQ(error_of([&] { (void)h.operation.type(); }), "[Operation] " + expected);
  EXPECT_EQ(error_of([&] { (void)to_string(h.operation); }), "[Operation] " + expected);
}

TEST_F(ForeignHandleTest, AnOpNamesItselfAndTheLine) {
  const Handles h = gone();
  const std::string text = error_of([&] { multiply(h.tensor, 2.f, "twice"); });
  EXPECT_TRUE(
      text.starts_with("[Mul 'twice'] expected input 0 from the current graph, got a handle into a graph "
                       "that is gone (made at foreign_handle_test.cc:"))
      << text;
}

TEST_F(ForeignHandleTest, EveryUseOfAHandleIntoAScratchGraphNamesTheCause) {
  const Handles h = scratch();
  for (const std::string& text : uses(h)) {
    EXPECT_TRUE(contains(text, ", which was made at foreign_handle_test.cc:")) << text;
    EXPECT_TRUE(contains(text, " to try something")) << text;
    EXPECT_TRUE(text.ends_with(". Do not keep it.")) << text;
  }
  EXPECT_TRUE(contains(error_of([&] { h.tensor + 1.f; }), "got 'x', which was made"));
  EXPECT_EQ(h.tensor.name(), "x");  // to look at it is no use of it
}

TEST_F(ForeignHandleTest, AGraphThatFailedToBeDefinedInAScratchGraphIsScratchToo) {
  Tensor left;
  {
    auto other = std::make_unique<Graph>();
    other->mark_scratch({.made_in = "to try something", .remedy = "Do not keep it."});
    {
      const GraphScope inside(*other);
      const GraphTransaction fails(*other);
      left = placeholder({"left", f32, {}});
    }
    graph.keep(std::move(other));
  }
  EXPECT_TRUE(contains(error_of([&] { left + 1.f; }), "got 'left', which was made at foreign_handle_test.cc:"));
}

// Another graph may lie where the first one lay.
TEST_F(ForeignHandleTest, AGraphAtTheSamePlaceIsAnotherOne) {
  Tensor old;
  for (int i = 0; i < 10; ++i) {
    Graph other;
    const GraphScope inside(other);
    const Tensor now = placeholder({"x", f32, {}});
    if (old) {
      EXPECT_FALSE(old == now);
      EXPECT_TRUE(contains(error_of([&] { old + 1.f; }), "a graph that is gone"));
    }
    old = now;
  }
}

}  // namespace
}  // namespace belfry
