// Every variable that a layer makes has an initialiser and a regulariser among the layer's options.
#include <map>

#include "tests/nn/nn_test_support.h"

namespace belfry {
namespace {

class LayerVariablesTest : public NnTest {
 protected:
  using Kinds = std::map<std::string, int>;

  // Of one kind of variable: an initial value that tells which, and a regulariser that says whose it was.
  static Initializer first(int kind) { return init::constant(kind); }
  Regularizer cost(int kind) {
    return [this, kind](const Tensor& w) {
      regularized[w.name()] = kind;
      return reduce_sum(w);
    };
  }
  // That the layer makes these trainables, each with the initialiser and regulariser of its kind.
  void expect_kinds(const Tensor& x, const Layer& layer, const Kinds& wanted) {
    const std::size_t before = graph.variables().size();
    x | layer;
    Session session(graph);
    session.initialize();
    Kinds initialized;
    for (std::size_t i = before; i < graph.variables().size(); ++i) {
      const Variable& v = graph.variables()[i];
      if (v.trainable()) initialized[v.name()] = static_cast<int>(session.value(v).item());
    }
    EXPECT_EQ(initialized, wanted) << "initialisers";
    EXPECT_EQ(regularized, wanted) << "regularisers";
    regularized.clear();
  }

  TrainTowerContext tower{""};
  Kinds regularized;
};

constexpr int kKernel = 1, kBias = 2, kBeta = 3, kGamma = 4, kOther = 5;

TEST_F(LayerVariablesTest, LayersOfWeightsAndBiases) {
  const auto with = [this](auto options) {
    options.kernel_initializer = first(kKernel);
    options.bias_initializer = first(kBias);
    options.kernel_regularizer = cost(kKernel);
    options.bias_regularizer = cost(kBias);
    return options;
  };
  const Tensor sequence = placeholder(f32, {kAny, 5, 4});
  const auto weights_and_biases = [](const std::string& layer) {
    return Kinds{{layer + "/W", kKernel}, {layer + "/b", kBias}};
  };
  expect_kinds(images(), conv2d("conv", with(Conv2dLayerOptions{.filters = 2})), weights_and_biases("conv"));
  expect_kinds(images(), conv2d_transpose("up", with(Conv2dTransposeLayerOptions{.filters = 2})),
               weights_and_biases("up"));
  expect_kinds(sequence, conv1d("along", with(Conv1dLayerOptions{.filters = 2})), weights_and_biases("along"));
  expect_kinds(images(), depthwise_conv2d("each", with(DepthwiseConv2dLayerOptions{})), weights_and_biases("each"));
  expect_kinds(images(), fully_connected("fc", with(FullyConnectedOptions{.units = 2})), weights_and_biases("fc"));
  expect_kinds(sequence, dense("dense", with(DenseOptions{.units = 2})), weights_and_biases("dense"));
  expect_kinds(sequence, multi_head_attention("self", with(MultiHeadAttentionOptions{})),
               {{"self/qkv/W", kKernel}, {"self/qkv/b", kBias}, {"self/proj/W", kKernel}, {"self/proj/b", kBias}});
}

TEST_F(LayerVariablesTest, Norms) {
  const auto with = [this](auto options) {
    options.beta_initializer = first(kBeta);
    options.gamma_initializer = first(kGamma);
    options.beta_regularizer = cost(kBeta);
    options.gamma_regularizer = cost(kGamma);
    return options;
  };
  const auto offset_and_scale = [](const std::string& layer) {
    return Kinds{{layer + "/beta", kBeta}, {layer + "/gamma", kGamma}};
  };
  expect_kinds(images(), batch_norm("batch", with(BatchNormLayerOptions{})), offset_and_scale("batch"));
  expect_kinds(images(), layer_norm("layer", with(LayerNormLayerOptions{})), offset_and_scale("layer"));
  expect_kinds(images(), group_norm("group", with(GroupNormLayerOptions{.groups = 3})), offset_and_scale("group"));
  expect_kinds(images(), instance_norm("instance", with(InstanceNormLayerOptions{})), offset_and_scale("instance"));
}

TEST_F(LayerVariablesTest, LayersWithVariablesOfTheirOwnKind) {
  expect_kinds(images(), prelu("prelu", {.initializer = first(kOther), .regularizer = cost(kOther)}),
               {{"prelu/alpha", kOther}});
  expect_kinds(placeholder(i32, {kAny}),
               embedding("words", {.rows = 4, .width = 2, .initializer = first(kOther), .regularizer = cost(kOther)}),
               {{"words/W", kOther}});
  expect_kinds(images(),
               separable_conv2d("sep", {.filters = 2,
                                        .depthwise_initializer = first(kKernel),
                                        .pointwise_initializer = first(kOther),
                                        .bias_initializer = first(kBias),
                                        .depthwise_regularizer = cost(kKernel),
                                        .pointwise_regularizer = cost(kOther),
                                        .bias_regularizer = cost(kBias)}),
               {{"sep/depthwise/W", kKernel}, {"sep/pointwise/W", kOther}, {"sep/b", kBias}});
}

TEST_F(LayerVariablesTest, RecurrentLayers) {
  const auto with = [this](auto options) {
    options.units = 2;
    options.kernel_initializer = first(kKernel);
    options.recurrent_initializer = first(kOther);
    options.bias_initializer = first(kBias);
    options.kernel_regularizer = cost(kKernel);
    options.recurrent_regularizer = cost(kOther);
    options.bias_regularizer = cost(kBias);
    return options;
  };
  const Tensor x = placeholder(f32, {5, 2, 3});
  expect_kinds(x, lstm("lstm", with(LstmLayerOptions{})),
               {{"lstm/layer0/W_x", kKernel}, {"lstm/layer0/W_h", kOther}, {"lstm/layer0/b", kBias}});
  expect_kinds(
      x, gru("gru", with(GruLayerOptions{})),
      {{"gru/layer0/W_x", kKernel}, {"gru/layer0/W_h", kOther}, {"gru/layer0/b", kBias}, {"gru/layer0/b_h", kBias}});
  // One regulariser for both weights.
  x | lstm("both", {.units = 2, .kernel_regularizer = cost(kKernel)});
  EXPECT_EQ(regularized, (Kinds{{"both/layer0/W_x", kKernel}, {"both/layer0/W_h", kKernel}}));
}

TEST_F(LayerVariablesTest, TransformerBlocks) {
  Kinds wanted;
  for (const char* part : {"attention/qkv", "attention/proj", "fc1", "fc2"}) {
    wanted[std::string("block/") + part + "/W"] = kKernel;
    wanted[std::string("block/") + part + "/b"] = kBias;
  }
  for (const char* norm : {"ln1", "ln2"}) {
    wanted[std::string("block/") + norm + "/beta"] = kBeta;
    wanted[std::string("block/") + norm + "/gamma"] = kGamma;
  }
  expect_kinds(placeholder(f32, {kAny, 3, 4}),
               transformer_block("block", {.kernel_initializer = first(kKernel),
                                           .bias_initializer = first(kBias),
                                           .kernel_regularizer = cost(kKernel),
                                           .bias_regularizer = cost(kBias),
                                           .beta_initializer = first(kBeta),
                                           .gamma_initializer = first(kGamma),
                                           .beta_regularizer = cost(kBeta),
                                           .gamma_regularizer = cost(kGamma)}),
               wanted);
}

}  // namespace
}  // namespace belfry
