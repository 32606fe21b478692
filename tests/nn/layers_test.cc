#include "belfry/nn/layers.h"

#include "tests/nn/nn_test_support.h"

namespace belfry {
namespace {

using LayersTest = NnTest;

TEST_F(LayersTest, APipeOfLayersHasTheNamesAndShapesOfEachLayer) {
  const TrainTowerContext tower("");
  const auto conv = conv2d({.filters = 32, .kernel = 3, .activation = relu});
  const Tensor logits = (placeholder(f32, {kAny, 28, 28, 1}, "image") * 2.f - 1.f) | conv("conv0") |
                        max_pool("pool0", 2) | conv("conv1") | max_pool("pool1", 2) |
                        fully_connected("fc0", {.units = 512, .activation = relu}) | dropout("drop", 0.5f) |
                        fully_connected("fc1", {.units = 10});
  EXPECT_EQ(in(collection::kTrainableVariables),
            (Names{"conv0/W", "conv0/b", "conv1/W", "conv1/b", "fc0/W", "fc0/b", "fc1/W", "fc1/b"}));
  EXPECT_EQ(variable("conv0/W").shape(), Shape({3, 3, 1, 32}));
  EXPECT_EQ(variable("conv1/W").shape(), Shape({3, 3, 32, 32}));
  EXPECT_EQ(variable("conv1/b").shape(), Shape({32}));
  EXPECT_EQ(variable("fc0/W").shape(), Shape({7 * 7 * 32, 512}));
  EXPECT_EQ(logits.name(), "fc1/output");
  EXPECT_EQ(logits.shape(), Shape({kAny, 10}));
  EXPECT_EQ(graph.get_tensor_by_name("conv0/output").shape(), Shape({kAny, 28, 28, 32}));
  EXPECT_EQ(graph.get_tensor_by_name("pool0/output").shape(), Shape({kAny, 14, 14, 32}));
  EXPECT_EQ(graph.get_operation_by_name("conv0/output").type(), "Relu");
  EXPECT_EQ(graph.get_operation_by_name("drop/output").type(), "Dropout");
}

TEST_F(LayersTest, BytesAreRefusedBeforeAnyVariableIsMade) {
  const TrainTowerContext tower("");
  const Tensor image = placeholder(u8, {kAny, 8, 8, 3}, "image");
  const std::string got = ", got u8 [?, 8, 8, 3] 'image' (at layers_test.cc:";
  const auto refuses = [&](const Layer& layer, const std::string& expected) {
    const std::string text = error_of([&] { layer(image); });
    EXPECT_TRUE(text.starts_with(expected + got) && text.ends_with("). Use cast(x, f32) first.")) << text;
  };
  refuses(conv2d("cv", {.filters = 4, .kernel = 3}), "[conv2d 'cv'] expected a float image");
  refuses(fully_connected("fc", {.units = 4}), "[fully_connected 'fc'] expected float features");
  refuses(batch_norm("bn"), "[batch_norm 'bn'] expected a float batch");
  EXPECT_TRUE(graph.variables().empty());
  EXPECT_EQ((cast(image, f32) | conv2d("cv", {.filters = 4, .kernel = 3})).dtype(), f32);
}

TEST_F(LayersTest, TheThreeFormsOfALayerBuildTheSame) {
  const Tensor x = images();
  const Conv2dLayerOptions options{.filters = 4, .kernel = {3, 1}, .strides = 2};
  const Tensor a = x | conv2d(options)("a"), b = x | conv2d("b", options), c = conv2d(x, "c", options),
               d = conv2d(options)(x, "d");
  for (const Tensor& y : {a, b, c, d}) {
    EXPECT_EQ(y.shape(), Shape({kAny, 4, 4, 4}));
    EXPECT_EQ(y.node()->def->name, "Add");
  }
  EXPECT_EQ(d.name(), "d/output");
  EXPECT_EQ(variable("b/W").shape(), Shape({3, 1, 3, 4}));
}

TEST_F(LayersTest, TheLastOpOfALayerIsItsOutputWhateverTheOptions) {
  const Tensor x = images();
  EXPECT_EQ((x | conv2d("a", {.filters = 2, .use_bias = false})).node()->def->name, "Conv2D");
  EXPECT_EQ((x | conv2d("b", {.filters = 2, .activation = tanh})).node()->def->name, "Tanh");
  const Tensor c = x | conv2d("c", {.filters = 2, .activation = [](const Tensor& t) { return relu(t * 2.f); }});
  EXPECT_EQ(c.name(), "c/output");
  EXPECT_EQ(c.node()->def->name, "Identity");
  EXPECT_EQ((x | fully_connected("d", {.units = 2, .use_bias = false})).node()->def->name, "MatMul");
  EXPECT_EQ((x | conv2d("e", {.filters = 2, .activation = identity_activation})).name(), "e/output");
  EXPECT_EQ(in(collection::kGlobalVariables), (Names{"a/W", "b/W", "b/b", "c/W", "c/b", "d/W", "e/W", "e/b"}));
}

TEST_F(LayersTest, ConvolutionOptionsReachTheOp) {
  const Tensor y = placeholder(f32, {kAny, 4, 9, 9}) | conv2d("conv", {.filters = 6,
                                                                       .kernel = 3,
                                                                       .dilations = 2,
                                                                       .padding = Padding::valid,
                                                                       .groups = 2,
                                                                       .data_format = DataFormat::channels_first});
  EXPECT_EQ(variable("conv/W").shape(), Shape({3, 3, 2, 6}));
  EXPECT_EQ(y.shape(), Shape({kAny, 6, 5, 5}));
}

TEST_F(LayersTest, InitialisersAndRegularisersAreUsed) {
  images() | conv2d("conv", {.filters = 2,
                             .kernel_initializer = init::he_normal(),
                             .bias_initializer = init::constant(0.5),
                             .kernel_regularizer = l2(0.1)});
  EXPECT_EQ(variable("conv/W").initial_value().node()->def->name, "TruncatedNormal");
  EXPECT_EQ(variable("conv/b").initial_value().node()->attributes.get<double>("value"), 0.5);
  EXPECT_EQ(graph.collections().tensors(collection::kRegularizationLosses).size(), 1u);
}

TEST_F(LayersTest, AScopesInitialiserServesWeightsButNotBiases) {
  const VariableScope scope("net", {.initializer = init::ones()});
  images() | conv2d("conv", {.filters = 2});
  EXPECT_EQ(variable("net/conv/W").initial_value().node()->attributes.get<double>("value"), 1);
  EXPECT_EQ(variable("net/conv/b").initial_value().node()->attributes.get<double>("value"), 0);
}

TEST_F(LayersTest, PoolsAndFlattenHaveNoVariables) {
  const Tensor x = images(5);
  EXPECT_EQ((x | max_pool("a", {.window = 3, .strides = 2, .padding = Padding::same})).shape(), Shape({kAny, 4, 4, 5}));
  EXPECT_EQ((x | avg_pool("b", 4)).shape(), Shape({kAny, 2, 2, 5}));
  EXPECT_EQ((x | global_avg_pool("c")).shape(), Shape({kAny, 5}));
  EXPECT_EQ((x | global_avg_pool("d", DataFormat::nchw)).shape(), Shape({kAny, 8}));
  EXPECT_EQ((x | flatten()).shape(), Shape({kAny, 320}));
  EXPECT_EQ((x | flatten("e")).name(), "e/output");
  EXPECT_EQ(graph.get_tensor_by_name("c/output").shape(), Shape({kAny, 5}));
  EXPECT_TRUE(graph.variables().empty());
}

TEST_F(LayersTest, DropoutIsTheIdentityInInference) {
  const PredictTowerContext tower("");
  const Tensor y = images() | dropout("drop", 0.5f);
  EXPECT_EQ(y.name(), "drop/output");
  EXPECT_EQ(y.node()->def->name, "Identity");
}

TEST_F(LayersTest, ASecondTowerUsesTheFirstOnesVariables) {
  const auto build = [&](const Tensor& x) {
    return x | conv2d("conv", {.filters = 2}) | batch_norm("bn") | fully_connected("fc", {.units = 3});
  };
  const Tensor x = images();
  {
    const TrainTowerContext tower("", {.total = 2});
    build(x);
  }
  const std::size_t count = graph.variables().size();
  {
    const TrainTowerContext tower("tower1", {.index = 1, .total = 2});
    EXPECT_EQ(build(x).name(), "tower1/fc/output");
  }
  {
    const PredictTowerContext tower("predict");
    EXPECT_EQ(build(x).name(), "predict/fc/output");
  }
  EXPECT_EQ(graph.variables().size(), count);
}

TEST_F(LayersTest, OpsRememberTheLineThatNamedTheLayer) {
  const Tensor x = images();
  const auto conv = conv2d({.filters = 2, .activation = relu});
  const Tensor y = x             // comments keep the lines apart
                   | conv("a")   //
                   | conv("b");  //
  const unsigned line = __LINE__ - 1;
  EXPECT_EQ(y.node()->where.line(), line);
  EXPECT_EQ(variable("b/W").node()->where.line(), line);
  EXPECT_EQ(graph.get_tensor_by_name("a/output").node()->where.line(), line - 1);
  const Tensor z = y | relu;
  EXPECT_EQ(z.node()->where.line(), static_cast<unsigned>(__LINE__ - 1));
  EXPECT_TRUE(contains(z.node()->where.file_name(), "layers_test.cc"));
}

TEST_F(LayersTest, LayersAndFunctionsComposeIntoABlock) {
  const TrainTowerContext tower("");
  const auto conv = conv2d({.filters = 3, .use_bias = false});
  const auto block = conv("a") | batch_norm("bn") | relu | conv("b");
  const Tensor x = images();
  const Tensor y = x | Layer("block", [&](const Tensor& t) { return (t | block) + t; });
  EXPECT_EQ(y.name(), "block/output");
  EXPECT_EQ(in(collection::kTrainableVariables), (Names{"block/a/W", "block/bn/gamma", "block/bn/beta", "block/b/W"}));
}

TEST_F(LayersTest, MistakesNameTheLayerTheInputAndTheLine) {
  const Tensor x = placeholder(f32, {kAny, 8, 8, kAny}, "x"), flat = placeholder(f32, {kAny, 5}, "flat");
  const std::string unknown = error_of([&] { x | conv2d("conv", {.filters = 2}); });
  EXPECT_TRUE(unknown.starts_with(
      "[conv2d 'conv'] expected a known number of channels in axis 3, got 'x' [?, 8, 8, ?] (at layers_test.cc:"))
      << unknown;
  const std::string rank = error_of([&] { flat | conv2d("conv1", {.filters = 2}); });
  EXPECT_TRUE(
      rank.starts_with("[conv2d 'conv1'] expected images [batch, height, width, channels] (rank 4), got 'flat' [?, 5] "
                       "(at layers_test.cc:"))
      << rank;
  EXPECT_TRUE(contains(error_of([&] { images() | conv2d("conv2", {.kernel = 3}); }),
                       "[conv2d 'conv2'] expected .filters above 0, got 0"));
  EXPECT_TRUE(contains(error_of([&] { images() | conv2d("conv3", {.filters = 4, .groups = 2}); }),
                       "got 2 groups, 3 channels, 4 filters"));
  EXPECT_TRUE(contains(error_of([&] { flat | fully_connected("fc", {}); }),
                       "[fully_connected 'fc'] expected .units above 0, got 0"));
  EXPECT_TRUE(
      contains(error_of([&] { dropout("drop", 1.0); }),
               "[dropout 'drop'] expected a rate in [0, 1), the fraction that is dropped, got 1 (at layers_test.cc:"));
  EXPECT_TRUE(
      contains(error_of([&] { flat | dropout("drop", 0.5); }),
               "[dropout 'drop'] expected a tower, which says whether it trains, got none (at layers_test.cc:"));
  EXPECT_TRUE(contains(error_of([&] { flat | flatten(""); }), "[layer] expected a name, got an empty one"));
  EXPECT_TRUE(
      contains(error_of([&] { flatten()(Tensor()); }), "[layer 'flatten'] expected a tensor, got an empty handle"));
}

TEST_F(LayersTest, ALayerThatFailsLeavesNothingBehindAndCanBeMadeAgain) {
  const TrainTowerContext tower("");
  const Tensor x = images();
  const auto fails_late = [](const Tensor& t) { return t | conv2d("inner", {.filters = 4}) | flatten(""); };
  const auto mistakes = std::vector<Layer>{
      conv2d("a", {.filters = 4, .kernel = 11, .padding = Padding::valid, .kernel_regularizer = l2(1)}),
      conv2d("a", {.filters = 4, .activation = fails_late}),
      batch_norm("a", {.activation = fails_late}),
      fully_connected("a", {.units = 4, .bias_initializer = [](const Shape&, DType) { return constant(1.f); }}),
      Layer("a", [&](const Tensor& t) { return t | conv2d("b", {.filters = 4}) | Layer("c", fails_late); }),
  };
  const std::string before = to_json(graph);
  for (const Layer& mistake : mistakes) {
    EXPECT_NE(error_of([&] { x | mistake; }), "no error");
    EXPECT_EQ(to_json(graph), before);
    EXPECT_TRUE(tower.variables().empty());
  }
  const Tensor y = x | conv2d("a", {.filters = 4});
  EXPECT_EQ(y.name(), "a/output");
  EXPECT_EQ(names(tower.trainable_variables()), (Names{"a/W", "a/b"}));
  EXPECT_EQ(in(collection::kTrainableVariables), (Names{"a/W", "a/b"}));
  EXPECT_TRUE(graph.collections().tensors(collection::kRegularizationLosses).empty());
  EXPECT_EQ(graph.collections().size(collection::kUpdateOps), 0u);
}

TEST_F(LayersTest, ALayerWithAnOddNameIsRefused) {
  EXPECT_EQ(error_of([] { conv2d("conv 1", {.filters = 2}); }),
            "[layer 'conv 1'] expected a name of letters, digits, '_', '-', '.' and single '/' between them, got 'conv "
            "1' (at layers_test.cc:" +
                std::to_string(__LINE__ - 3) + "). Choose another name.");
}

TEST_F(LayersTest, AnOutputThatIsNotWhatTheLayerGivesIsRefused) {
  const Layer layer("odd", [](const Tensor& x) { return multiply(x, 2.f, "output") + 1.f; });
  EXPECT_TRUE(
      contains(error_of([&] { images() | layer; }),
               "[layer 'odd'] expected its function to return the tensor that it names 'output', got 'odd/Add' f32"));
}

TEST_F(LayersTest, ANameUsedTwiceIsAnErrorAboutTheVariable) {
  const Tensor x = images();
  x | conv2d("conv", {.filters = 2});
  EXPECT_TRUE(contains(error_of([&] { x | conv2d("conv", {.filters = 2}); }),
                       "[get_variable 'conv/W'] expected a new variable"));
}

}  // namespace
}  // namespace belfry
