#include "belfry/session/internal/weight_roles.h"

#include <gtest/gtest.h>

#include "belfry/belfry.h"
#include "belfry/session/internal/layout_rules.h"
#include "tests/support/errors.h"

namespace belfry {
namespace {

class WeightRolesTest : public testing::Test {
 protected:
  // The rule that turns PyTorch's value for this variable into ours.
  std::string pytorch(const char* name) { return rule(WeightLayout::pytorch, name); }
  std::string rule(WeightLayout layout, const char* name) {
    const Variable variable = graph.get_variable_by_name(name);
    return layout_rule(layout, WeightRoles(graph).of(variable), variable.shape()).text();
  }

  Graph graph;
  GraphScope scope{graph};
  Tensor image = placeholder({"image", f32, {kAny, 6, 4, 3}});
};

TEST_F(WeightRolesTest, EachLayerHasItsRule) {
  image | conv2d("conv", {.filters = 4}) | depthwise_conv2d("depthwise", {.multiplier = 2}) |
      conv2d_transpose("up", {.filters = 2}) | batch_norm("norm", {.training = false}) |
      fully_connected("fc", {.units = 3});
  const Tensor words = placeholder({"ids", i32, {kAny, 5}}) | embedding("words", {.rows = 7, .width = 4});
  words | lstm("lstm", {.units = 3}) | gru("gru", {.units = 3}) | conv1d("conv1d", {.filters = 2}) |
      dense("dense", {.units = 4}) | layer_norm("layer_norm");
  EXPECT_EQ(pytorch("conv/W"), "oihw");
  EXPECT_EQ(pytorch("conv/b"), "");
  EXPECT_EQ(pytorch("depthwise/W"), "oihw");
  EXPECT_EQ(pytorch("up/W"), "oihw");
  EXPECT_EQ(pytorch("norm/mean/EMA"), "");
  EXPECT_EQ(pytorch("fc/W"), "linear, chw 2x6x4");
  EXPECT_EQ(pytorch("words/W"), "");
  EXPECT_EQ(pytorch("lstm/layer0/W_x"), "linear");
  EXPECT_EQ(pytorch("lstm/layer0/W_h"), "linear");
  EXPECT_EQ(pytorch("lstm/layer0/b"), "sum");
  EXPECT_EQ(pytorch("gru/layer0/b"), "");
  EXPECT_EQ(pytorch("conv1d/W"), "oiw");
  EXPECT_EQ(pytorch("dense/W"), "linear");
  EXPECT_EQ(rule(WeightLayout::keras, "depthwise/W"), "reshape 3 3 4 2");
  EXPECT_EQ(rule(WeightLayout::keras, "conv/W"), "");
  EXPECT_EQ(rule(WeightLayout::keras, "lstm/layer0/W_x"), "");
  EXPECT_EQ(rule(WeightLayout::keras, "gru/layer0/W_h"), "gates 1 0 2");
  EXPECT_EQ(rule(WeightLayout::keras, "gru/layer0/b"), "gates 1 0 2, stack");
  EXPECT_EQ(rule(WeightLayout::tensorflow1, "lstm/layer0/W_h"), "gates 0 2 1 3");
  EXPECT_EQ(rule(WeightLayout::tensorflow1, "lstm/layer0/b"), "gates 0 2 1 3, forget_bias 1");
  image | prelu("slopes");
  image | prelu("slope", {.shared = true});
  EXPECT_EQ(rule(WeightLayout::keras, "slopes/alpha"), "reshape 1 1 3");
  EXPECT_EQ(rule(WeightLayout::keras, "slope/alpha"), "reshape 1 1 1");
  EXPECT_EQ(pytorch("slopes/alpha"), "");
  EXPECT_EQ(pytorch("slope/alpha"), "reshape 1");
  EXPECT_EQ(rule(WeightLayout::belfry, "conv/W"), "");
}

TEST_F(WeightRolesTest, FlattenedImagesAreFoundThroughWhatFollowsThem) {
  const TrainTowerContext tower("");
  image | conv2d("conv", {.filters = 4, .activation = relu}) | max_pool("pool", 2) | flatten() | dropout("drop", 0.5) |
      tanh | fully_connected("fc", {.units = 5}) | fully_connected("next", {.units = 2});
  image | conv2d("pixels", {.filters = 4}) | global_avg_pool("mean") | fully_connected("of_means", {.units = 5});
  placeholder({"x", f32, {kAny, 9, 2}}) | conv1d("conv1d", {.filters = 4}) |
      fully_connected("of_sequence", {.units = 2});
  const Tensor a = image | conv2d("a", {.filters = 1}), b = image | conv2d("b", {.filters = 2});
  concat(std::vector<Tensor>{a, b}, 3) | fully_connected("of_both", {.units = 2});
  placeholder({"one", f32, {kAny, 9, 9, 1}}) | fully_connected("one_channel", {.units = 2});
  EXPECT_EQ(pytorch("fc/W"), "linear, chw 4x3x2");
  EXPECT_EQ(pytorch("next/W"), "linear");
  EXPECT_EQ(pytorch("of_means/W"), "linear");
  EXPECT_EQ(pytorch("of_sequence/W"), "linear, chw 4x1x9");
  EXPECT_EQ(pytorch("of_both/W"), "linear, chw 3x6x4");
  EXPECT_EQ(pytorch("one_channel/W"), "linear");
}

TEST_F(WeightRolesTest, ImagesWhoseChannelsCannotBeToldNeedARowsRule) {
  image | fully_connected("fc", {.units = 5});
  EXPECT_EQ(error_of([&] { pytorch("fc/W"); }),
            "expected to know where the channels of the images are that are flattened before it, got no layer that "
            "tells; give the row the rule \"chw CxHxW\", or \"linear\" if they are flattened pixel by pixel");
  Session session(graph);
  session.initialize();
  const std::map<std::string, Array> values{{"w", Array::full(f32, {5, 72}, 1)}};
  for (const char* row : {"chw 3x6x4", "linear"})
    EXPECT_NO_THROW(
        DictRestore(values, {.names = {{"w", "fc/W", row}}, .layout = WeightLayout::pytorch}).init(session));
}

TEST_F(WeightRolesTest, GradientsRegularizersAndTiedWeightsDoNotChangeThem) {
  const Tensor ids = placeholder({"ids", i32, {kAny}});
  const Variable table = get_variable("table", {.shape = {7, 4}});
  const Tensor h = embedding_lookup(table, ids) | fully_connected("fc", {.units = 4, .kernel_regularizer = l2(0.1f)});
  const Tensor logits = matmul(h, table, {.transpose_b = true});
  const Tensor cost = reduce_mean(square(logits)) + regularize_cost(".*", l2(0.1f));
  sgd({.learning_rate = 0.1f})->minimize(cost);
  EXPECT_EQ(pytorch("table"), "") << "as an embedding, although it is on the right of a product in the gradient";
  EXPECT_EQ(pytorch("fc/W"), "linear");
}

TEST_F(WeightRolesTest, LayersInLoopsAreFound) {
  const RnnCell own("own", {.state = {3}, .output = 3}, [](const Tensor& x, const Tensors& state) {
    const Tensor h = tanh(state[0] + (x | fully_connected("in", {.units = 3})));
    return RnnStep{.output = h, .state = {h}};
  });
  const Tensor x = placeholder({"x", f32, {kAny, 2, 5}});
  rnn(own, x);
  rnn(cell::stacked("cells", {cell::lstm("lstm", {.units = 3}), cell::plain("plain", {.units = 2})}), x);
  unroll(cell::gru("gru", {.units = 3}), placeholder({"short", f32, {3, 2, 5}}));
  EXPECT_EQ(pytorch("own/in/W"), "linear");
  EXPECT_EQ(pytorch("cells/lstm/W_x"), "linear");
  EXPECT_EQ(pytorch("cells/lstm/b"), "sum");
  EXPECT_EQ(pytorch("cells/plain/W_h"), "linear");
  EXPECT_EQ(rule(WeightLayout::keras, "gru/W_h"), "gates 1 0 2");
}

}  // namespace
}  // namespace belfry
