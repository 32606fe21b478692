#include "belfry/nn/embedding.h"

#include "tests/nn/nn_test_support.h"

namespace belfry {
namespace {

using EmbeddingTest = NnTest;

TEST_F(EmbeddingTest, GivesTheRowsOfItsTable) {
  const Tensor ids = placeholder(i32, {kAny, 2});
  const Tensor y = ids | embedding("words", {.rows = 5, .width = 3});
  EXPECT_EQ(y.name(), "words/output");
  EXPECT_EQ(y.shape(), Shape({kAny, 2, 3}));
  EXPECT_EQ(in(collection::kTrainableVariables), Names{"words/W"});
  EXPECT_EQ(embedding(ids, "wide", {.rows = 5, .width = 3, .dtype = f64}).dtype(), f64);
  Session session(graph);
  session.initialize();
  const Array rows = session.run(y, {{ids, Array::of<std::int32_t>({1, 2}, {4, 0})}}),
              table = session.value(variable("words/W"));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(rows.item(i), table.item(4 * 3 + i));
    EXPECT_EQ(rows.item(3 + i), table.item(i));
  }
}

TEST_F(EmbeddingTest, InitialiserAndRegulariserAreTheTables) {
  placeholder(i64, {2}) |
      embedding("words", {.rows = 5, .width = 3, .initializer = init::constant(2), .regularizer = l2(0.5f)});
  Session session(graph);
  session.initialize();
  EXPECT_EQ(session.value(variable("words/W")).item(7), 2);
  EXPECT_EQ(graph.collections().tensors(collection::kRegularizationLosses).size(), 1u);
}

TEST_F(EmbeddingTest, MistakesNameTheLayerAndItsLine) {
  const Tensor ids = placeholder(i32, {2});
  const std::string text = error_of([&] { ids | embedding("words", {.rows = 5}); });
  EXPECT_TRUE(contains(text, "[embedding 'words'] expected .rows and .width above 0, got 5 and 0 (at ")) << text;
  EXPECT_TRUE(contains(text, "embedding_test.cc:")) << text;
  EXPECT_TRUE(contains(error_of([&] { placeholder(f32, {2}) | embedding("words", {.rows = 5, .width = 2}); }),
                       "expected indices of type i32 or i64, got f32. Use cast()"));
}

}  // namespace
}  // namespace belfry
