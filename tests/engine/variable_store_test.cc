#include "belfry/engine/cpu/memory/variable_store.h"

#include <gtest/gtest.h>

#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "tests/session/session_testing.h"

namespace belfry {
namespace {

TEST(VariableStore, KeepsWhatFitsAndSaysWhatDoesNot) {
  Graph graph;
  const GraphScope scope(graph);
  const Node* v = get_variable("v", {.shape = {2, 3}}).node();
  VariableStore store;
  EXPECT_EQ(error_of([&] { store.get(v); }),
            "[Variable 'v'] expected a value, got none. Call session.initialize() or load a checkpoint first.");
  EXPECT_EQ(error_of([&] { store.set(v, Array::zeros(f64, {6})); }),
            "[Variable 'v'] expected a value of f32 [2, 3], got f64 [6]. Use reshaped() or cast() on it.");
  store.set(v, Array::full(f32, {2, 3}, 7));
  EXPECT_EQ(store.get(v).item(5), 7);
}

}  // namespace
}  // namespace belfry
