#include "belfry/nn/attention.h"

#include <cmath>

#include "tests/nn/nn_test_support.h"

namespace belfry {
namespace {

class SequenceLayersTest : public NnTest {
 protected:
  Tensor sequence(std::int64_t features = 8) { return placeholder(f32, {kAny, kAny, features}, "x"); }
  Array values(const Shape& shape) {
    Array out(f32, shape);
    for (std::int64_t i = 0; i < out.elements(); ++i) out.set_item(i, std::sin(static_cast<double>(i)));
    return out;
  }
};

TEST_F(SequenceLayersTest, DenseProjectsEveryVectorOfASequence) {
  const Tensor x = sequence(3),
               y = x | dense("fc",
                             {.units = 2, .kernel_initializer = init::ones(), .bias_initializer = init::constant(0.5)});
  EXPECT_EQ(y.name(), "fc/output");
  EXPECT_EQ(y.shape(), Shape({kAny, kAny, 2}));
  EXPECT_EQ(variable("fc/W").shape(), Shape({3, 2}));
  Session session(graph);
  session.initialize();
  const Array got = session.run(y, Feeds{{x, Array::of<float>({1, 2, 3}, {1, 2, 3, 4, 5, 6})}});
  EXPECT_TRUE(equal(got, Array::of<float>({1, 2, 2}, {6.5, 6.5, 15.5, 15.5}))) << to_string(got);
}

TEST_F(SequenceLayersTest, DenseTakesAnActivationAndARegularizerAndNoBias) {
  const TrainTowerContext tower("");
  const Tensor y =
      sequence() | dense("fc", {.units = 4, .use_bias = false, .activation = gelu, .kernel_regularizer = l2(0.1)});
  EXPECT_EQ(y.node()->def->name, "Gelu");
  EXPECT_EQ(in(collection::kTrainableVariables), Names{"fc/W"});
  EXPECT_EQ(graph.collections().tensors(collection::kRegularizationLosses).size(), 1u);
}

TEST_F(SequenceLayersTest, LayerNormHasGammaAndBetaUnlessToldOtherwise) {
  const Tensor x = sequence();
  EXPECT_EQ((x | layer_norm("a")).name(), "a/output");
  x | layer_norm("b", {.center = false});
  layer_norm(x, "c", {.center = false, .scale = false});
  EXPECT_EQ(in(collection::kTrainableVariables), (Names{"a/gamma", "a/beta", "b/gamma"}));
}

TEST_F(SequenceLayersTest, AttentionHasOneProjectionForQueriesKeysAndValues) {
  const Tensor y = sequence() | multi_head_attention("att", {.heads = 2, .units = 4, .causal = true});
  EXPECT_EQ(y.name(), "att/output");
  EXPECT_EQ(y.shape(), Shape({kAny, kAny, 8}));
  EXPECT_EQ(in(collection::kTrainableVariables), (Names{"att/qkv/W", "att/qkv/b", "att/proj/W", "att/proj/b"}));
  EXPECT_EQ(variable("att/qkv/W").shape(), Shape({8, 12}));
  EXPECT_EQ(variable("att/proj/W").shape(), Shape({4, 8}));
}

TEST_F(SequenceLayersTest, AttentionToAContextProjectsItApart) {
  const Tensor context = placeholder(f32, {kAny, 5, 6}), x = placeholder(f32, {kAny, 3, 8});
  const Tensor y = x | multi_head_attention("att", {.heads = 2, .context = context, .use_bias = false});
  EXPECT_EQ(y.shape(), Shape({kAny, 3, 8}));
  EXPECT_EQ(in(collection::kTrainableVariables), (Names{"att/q/W", "att/kv/W", "att/proj/W"}));
  EXPECT_EQ(variable("att/kv/W").shape(), Shape({6, 16}));
}

TEST_F(SequenceLayersTest, CausalAttentionNeverSeesWhatIsToCome) {
  const PredictTowerContext tower("");
  const Tensor x = sequence(), y = x | transformer_block("block", {.heads = 2, .causal = true});
  Session session(graph);
  session.initialize();
  const Array before = values({1, 5, 8});
  Array after = before.clone();
  for (std::int64_t i = 3 * 8; i < after.elements(); ++i) after.set_item(i, 100);  // positions 3 and 4
  const Array a = session.run(y, Feeds{{x, before}}), b = session.run(y, Feeds{{x, after}});
  for (std::int64_t i = 0; i < 3 * 8; ++i) EXPECT_EQ(a.item(i), b.item(i)) << i;
  EXPECT_NE(a.item(4 * 8), b.item(4 * 8));
}

TEST_F(SequenceLayersTest, ATransformerBlockNamesItsParts) {
  const TrainTowerContext tower("");
  const auto block = transformer_block({.heads = 2, .kernel_regularizer = l2(0.1)});
  const Tensor y = sequence() | block("block0");
  EXPECT_EQ(y.name(), "block0/output");
  EXPECT_EQ(y.shape(), Shape({kAny, kAny, 8}));
  EXPECT_EQ(in(collection::kTrainableVariables),
            (Names{"block0/ln1/gamma", "block0/ln1/beta", "block0/attention/qkv/W", "block0/attention/qkv/b",
                   "block0/attention/proj/W", "block0/attention/proj/b", "block0/ln2/gamma", "block0/ln2/beta",
                   "block0/fc1/W", "block0/fc1/b", "block0/fc2/W", "block0/fc2/b"}));
  EXPECT_EQ(variable("block0/fc1/W").shape(), Shape({8, 32}));
  EXPECT_EQ(graph.collections().tensors(collection::kRegularizationLosses).size(), 4u);
}

TEST_F(SequenceLayersTest, DropoutWorksInTrainingOnly) {
  const TransformerBlockOptions options{.heads = 2, .dropout = 0.5, .attention_dropout = 0.25};
  const auto drops = [&] {
    return std::ranges::count_if(graph.nodes(), [](const auto& node) { return node->def->name == "Dropout"; });
  };
  {
    const PredictTowerContext tower("");
    sequence() | transformer_block("block", options);
    EXPECT_EQ(drops(), 0);
  }
  const TrainTowerContext tower("");
  placeholder(f32, {kAny, 4, 8}) | transformer_block("trained", options);
  EXPECT_EQ(drops(), 3);
}

TEST_F(SequenceLayersTest, ABlockLearns) {
  const TrainTowerContext tower("");
  const Tensor x = placeholder(f32, {2, 6, 8});
  const Tensor y = x | transformer_block("block", {.heads = 2, .causal = true});
  const Tensor loss = reduce_mean(square(y - x * 0.5f));
  const Operation train = adam({.learning_rate = 1e-2f})->minimize(loss);
  Session session(graph);
  session.initialize();
  const Feeds feeds{{x, values({2, 6, 8})}};
  const double before = session.run(loss, feeds).item();
  for (int i = 0; i < 50; ++i) session.run(train, feeds);
  EXPECT_LT(session.run(loss, feeds).item(), before / 4);
}

TEST_F(SequenceLayersTest, MistakesNameTheLayerAndTheLine) {
  const Tensor x = sequence();
  EXPECT_TRUE(contains(error_of([&] { x | dense("fc", {}); }), "[dense 'fc'] expected .units above 0, got 0 (at "));
  EXPECT_TRUE(contains(error_of([&] { placeholder(f32, {3}) | dense("fc", {.units = 1}); }),
                       "[dense 'fc'] expected vectors (rank 2 or more), got"));
  EXPECT_TRUE(contains(error_of([&] { placeholder(f32, {3, kAny}) | layer_norm("ln"); }),
                       "[layer_norm 'ln'] expected a known number of features in axis 1, got"));
  EXPECT_TRUE(contains(error_of([&] { x | multi_head_attention("att", {.heads = 3}); }),
                       "[multi_head_attention 'att'] expected units that divide into .heads, got 8 units and 3 heads"));
  EXPECT_TRUE(contains(error_of([&] { placeholder(f32, {3, 8}) | multi_head_attention("att", {.heads = 2}); }),
                       "[multi_head_attention 'att'] expected a sequence [batch, time, features] (rank 3), got"));
  EXPECT_TRUE(contains(error_of([&] { x | transformer_block("b", {.heads = 2, .dropout = 1}); }),
                       "[transformer_block 'b'] expected .dropout in [0, 1), the fraction that is dropped, got 1"));
}

}  // namespace
}  // namespace belfry
