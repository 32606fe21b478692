#include "belfry/nn/conv_layers.h"

#include "tests/nn/nn_test_support.h"

namespace belfry {
namespace {

using ConvLayersTest = NnTest;

TEST_F(ConvLayersTest, TransposedConvolutionMakesImagesLarger) {
  const Tensor y = images(6) | conv2d_transpose("up", {.filters = 4, .kernel = {4, 3}, .strides = 2});
  EXPECT_EQ(y.name(), "up/output");
  EXPECT_EQ(y.shape(), Shape({kAny, 16, 16, 4}));
  EXPECT_EQ(variable("up/W").shape(), Shape({4, 3, 4, 6}));
  EXPECT_EQ(variable("up/b").shape(), Shape({4}));
  const Tensor z = images(6) | conv2d_transpose("odd", {.filters = 4,
                                                        .kernel = 3,
                                                        .strides = 2,
                                                        .groups = 2,
                                                        .output_size = 15,
                                                        .use_bias = false,
                                                        .activation = relu});
  EXPECT_EQ(z.shape(), Shape({kAny, 15, 15, 4}));
  EXPECT_EQ(z.node()->def->name, "Relu");
  EXPECT_EQ(variable("odd/W").shape(), Shape({3, 3, 2, 6}));
}

TEST_F(ConvLayersTest, Conv1dWorksOnSequences) {
  const Tensor x = placeholder(f32, {kAny, kAny, 6});
  const Tensor y = x | conv1d("conv", {.filters = 4, .kernel = 5, .stride = 2, .activation = tanh});
  EXPECT_EQ(y.name(), "conv/output");
  EXPECT_EQ(y.shape(), Shape({kAny, kAny, 4}));
  EXPECT_EQ(variable("conv/W").shape(), Shape({5, 6, 4}));
  EXPECT_EQ(variable("conv/b").shape(), Shape({4}));
  const Tensor first =
      placeholder(f32, {kAny, 6, 9}) | conv1d("first", {.filters = 4, .data_format = DataFormat::channels_first});
  EXPECT_EQ(first.shape(), Shape({kAny, 4, 9}));
}

TEST_F(ConvLayersTest, DepthwiseConvolutionMultipliesChannels) {
  const Tensor y = images(5) | depthwise_conv2d("each", {.multiplier = 2, .strides = 2});
  EXPECT_EQ(y.shape(), Shape({kAny, 4, 4, 10}));
  EXPECT_EQ(variable("each/W").shape(), Shape({3, 3, 1, 10}));
  EXPECT_EQ(variable("each/b").shape(), Shape({10}));
  EXPECT_EQ((images(5) | depthwise_conv2d("plain")).shape(), Shape({kAny, 8, 8, 5}));
}

TEST_F(ConvLayersTest, SeparableConvolutionIsDepthwiseThenPointwise) {
  const Tensor y = images(5) | separable_conv2d("sep", {.filters = 7,
                                                        .multiplier = 2,
                                                        .kernel = {3, 1},
                                                        .activation = relu,
                                                        .depthwise_initializer = init::ones(),
                                                        .pointwise_initializer = init::constant(0.5),
                                                        .depthwise_regularizer = l2(0.1)});
  EXPECT_EQ(y.shape(), Shape({kAny, 8, 8, 7}));
  EXPECT_EQ(in(collection::kTrainableVariables), (Names{"sep/depthwise/W", "sep/pointwise/W", "sep/b"}));
  EXPECT_EQ(variable("sep/depthwise/W").shape(), Shape({3, 1, 1, 10}));
  EXPECT_EQ(variable("sep/pointwise/W").shape(), Shape({1, 1, 10, 7}));
  EXPECT_EQ(variable("sep/pointwise/W").initial_value().node()->attributes.get<double>("value"), 0.5);
  EXPECT_EQ(graph.collections().tensors(collection::kRegularizationLosses).size(), 1u);
}

TEST_F(ConvLayersTest, SeparableConvolutionOfOnesCountsTapsAndChannels) {
  const Tensor x = placeholder(f32, {1, 3, 3, 2});
  const Tensor y = x | separable_conv2d("sep", {.filters = 1,
                                                .padding = Padding::valid,
                                                .depthwise_initializer = init::ones(),
                                                .pointwise_initializer = init::ones()});
  Session session(graph);
  session.initialize();
  EXPECT_EQ(session.run(y, {{x, Array::full(f32, {1, 3, 3, 2}, 1)}}).item(), 18);
}

TEST_F(ConvLayersTest, TheThreeFormsOfALayerBuildTheSame) {
  const Tensor x = images(), s = placeholder(f32, {kAny, 9, 3});
  const Conv2dTransposeLayerOptions up{.filters = 4, .strides = 2};
  for (const Tensor& y : {x | conv2d_transpose(up)("a"), x | conv2d_transpose("b", up), conv2d_transpose(x, "c", up)})
    EXPECT_EQ(y.shape(), Shape({kAny, 16, 16, 4}));
  const Conv1dLayerOptions along{.filters = 4, .padding = Padding::valid};
  for (const Tensor& y : {s | conv1d(along)("d"), s | conv1d("e", along), conv1d(s, "f", along)})
    EXPECT_EQ(y.shape(), Shape({kAny, 7, 4}));
  const SeparableConv2dLayerOptions sep{.filters = 4};
  for (const Tensor& y :
       {x | separable_conv2d(sep)("g"), x | separable_conv2d("h", sep), separable_conv2d(x, "i", sep)})
    EXPECT_EQ(y.shape(), Shape({kAny, 8, 8, 4}));
  const DepthwiseConv2dLayerOptions each{.strides = 2};
  for (const Tensor& y :
       {x | depthwise_conv2d(each)("j"), x | depthwise_conv2d("k", each), depthwise_conv2d(x, "l", each)})
    EXPECT_EQ(y.shape(), Shape({kAny, 4, 4, 3}));
}

TEST_F(ConvLayersTest, MistakesNameTheLayer) {
  const Tensor flat = placeholder(f32, {kAny, 5}, "flat");
  EXPECT_TRUE(error_of([&] { flat | conv2d_transpose("up", {.filters = 2}); })
                  .starts_with("[conv2d_transpose 'up'] expected images [batch, height, width, channels] (rank 4), got "
                               "'flat' [?, 5] (at conv_layers_test.cc:"));
  EXPECT_TRUE(contains(error_of([&] { images() | conv2d_transpose("up", {}); }),
                       "[conv2d_transpose 'up'] expected .filters above 0, got 0"));
  EXPECT_TRUE(contains(error_of([&] { images() | conv2d_transpose("up", {.filters = 4, .groups = 2}); }),
                       "got 2 groups, 3 channels, 4 filters"));
  EXPECT_TRUE(contains(error_of([&] { flat | conv1d("c", {.filters = 2}); }),
                       "[conv1d 'c'] expected sequences [batch, length, channels] (rank 3), got 'flat' [?, 5]"));
  EXPECT_TRUE(contains(error_of([&] { placeholder(f32, {kAny, 3, 5}) | conv1d("c", {.filters = 2, .kernel = 0}); }),
                       "[conv1d 'c'] expected a kernel of 1 or more in both directions, got 1 x 0"));
  EXPECT_TRUE(contains(error_of([&] { images() | depthwise_conv2d("d", {.multiplier = 0}); }),
                       "[depthwise_conv2d 'd'] expected .multiplier above 0, got 0"));
  EXPECT_TRUE(contains(error_of([&] { images() | separable_conv2d("s", {}); }),
                       "[separable_conv2d 's'] expected .filters above 0, got 0"));
}

}  // namespace
}  // namespace belfry
