#include "belfry/nn/describe.h"

#include <sstream>

#include "tests/nn/nn_test_support.h"

namespace belfry {
namespace {

class DescribeTest : public NnTest {
 protected:
  static Tensor model(const Tensor& x) {
    const auto conv = conv2d({.filters = 16, .kernel = 3, .activation = relu});
    return x | conv("conv0") | max_pool("pool0", 2) | batch_norm("bn") | fully_connected("fc", {.units = 10});
  }
  // What is logged, while it lives.
  std::string logged;
  LogRedirect redirect{[this](LogLevel level, std::string_view text) {
    (logged += name_of(level)).append(" ").append(text).append("\n");
  }};
};

// The number in the column MFLOP.
double mflop_of(const std::string& table, const std::string& layer) {
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(layer + " ")) continue;
    std::istringstream rest(line.substr(line.rfind(']') + 1));
    std::string parameters;
    double out = 0;
    rest >> parameters >> out;
    return out;
  }
  return -1;
}

// A multiply-add is two: 2 * 8*8*16 * 3*3*3 and 2 * 8*8*16 for bias and relu, of one example.
constexpr const char* kLayers =
    "layer  input          output         parameters  MFLOP  output kB\n"
    "conv0  [?, 8, 8, 3]   [?, 8, 8, 16]  448         0.057  4.10\n"
    "pool0  [?, 8, 8, 16]  [?, 4, 4, 16]  0           0.000  1.02\n"
    "bn     [?, 4, 4, 16]  [?, 4, 4, 16]  32          0.000  1.02\n"
    "fc     [?, 4, 4, 16]  [?, 10]        2,570       0.005  0.04\n"
    "4 layers, 3,050 parameters; forward, per example: 0.063 MFLOP, 6.18 kB of outputs\n";

TEST_F(DescribeTest, EveryLayerHasOneLineWhateverTheTowers) {
  for (int i = 0; i < 2; ++i) {
    const TrainTowerContext tower("tower" + std::to_string(i), {.index = i, .total = 2});
    model(images());
  }
  {
    const PredictTowerContext tower("predict");
    model(placeholder(f32, {1, 8, 8, 3}));
  }
  EXPECT_EQ(describe_layers(graph), kLayers);
}

TEST_F(DescribeTest, TowersWithVariablesOfTheirOwnAndInferenceAloneShowTheSame) {
  for (int i = 0; i < 2; ++i) {
    const std::string name = "tower" + std::to_string(i);
    const TrainTowerContext tower(name, {.index = i, .total = 2, .variable_scope = i == 0 ? "" : name});
    model(images());
  }
  EXPECT_EQ(describe_layers(graph), kLayers);
  Graph other;
  const GraphScope inside(other);
  {
    const PredictTowerContext tower("predict");
    model(images());
  }
  EXPECT_EQ(describe_layers(other), kLayers);
}

TEST_F(DescribeTest, LayersThatAreUsedAgainShowOnceAndPartsFollowTheWhole) {
  const Tensor x = placeholder(f32, {kAny, kAny, 8});
  const auto block = transformer_block({.heads = 2});
  const Tensor y = x | block("block0");
  {
    const auto again = VariableScope::reopen({.reuse = Reuse::yes});
    y | block("block0");
  }
  EXPECT_EQ(describe_layers(graph),
            "layer                  input       output      parameters  MFLOP  output kB\n"
            "block0                 [?, ?, 8]   [?, ?, 8]   872         0.002  0.03\n"
            "block0/ln1             [?, ?, 8]   [?, ?, 8]   16          0.000  0.03\n"
            "block0/attention       [?, ?, 8]   [?, ?, 8]   288         0.001  0.03\n"
            "block0/attention/qkv   [?, ?, 8]   [?, ?, 24]  216         0.000  0.10\n"
            "block0/attention/proj  [?, ?, 8]   [?, ?, 8]   72          0.000  0.03\n"
            "block0/ln2             [?, ?, 8]   [?, ?, 8]   16          0.000  0.03\n"
            "block0/fc1             [?, ?, 8]   [?, ?, 32]  288         0.001  0.13\n"
            "block0/fc2             [?, ?, 32]  [?, ?, 8]   264         0.001  0.03\n"
            "1 layer, 872 parameters; forward, per example: 0.002 MFLOP, 0.03 kB of outputs\n");
}

TEST_F(DescribeTest, ProductsOfRecurrentLayersAndAttentionAreCounted) {
  const Tensor x = placeholder(f32, {kAny, 16, 32});
  placeholder(f32, {16, kAny, 32}) | lstm("rnn", {.units = 64});
  x | multi_head_attention("attention", {.heads = 4});
  const std::string text = describe_layers(graph);
  // 16 steps of [1, 32] x [32, 256] and [1, 64] x [64, 256]
  const double lstm_flops = 16. * 2 * (32 + 64) * 256;
  EXPECT_GE(mflop_of(text, "rnn"), lstm_flops / 1e6);
  EXPECT_LT(mflop_of(text, "rnn"), 1.02 * lstm_flops / 1e6) << text;
  // Four products with [32, 32], and 16 x 16 scores and values of 32 numbers.
  const double attention_flops = 2. * 16 * 32 * 32 * 4 + 2. * 16 * 16 * 32 * 2;
  EXPECT_GE(mflop_of(text, "attention"), attention_flops / 1e6);
  EXPECT_LT(mflop_of(text, "attention"), 1.05 * attention_flops / 1e6) << text;
}

// A part of another layer, made before it, has the same last name.
TEST_F(DescribeTest, ALayersNumbersAreItsOwnWhateverPartsOfOthersAreCalled) {
  for (const std::string tower : {"", "tower0"}) {
    Graph own;
    const GraphScope inside(own);
    const TrainTowerContext context(tower);
    const Tensor x = placeholder(f32, {kAny, 100});
    const Layer block("block", [](const Tensor& t) { return t | fully_connected("fc", {.units = 100}); });
    x | block | fully_connected("fc", {.units = 10});
    const std::string text = describe_layers(own);
    EXPECT_EQ(mflop_of(text, "block/fc"), 0.02) << text;  // 2 * 100 * 100, and the bias
    EXPECT_EQ(mflop_of(text, "fc"), 0.002) << text;
  }
}

OpRegistration user_op(std::string name) {
  return define_op(std::move(name))
      .input("x")
      .input("y")
      .output("z")
      .shape([](const ShapeContext& c) { return c.input(1); })
      .gradient([](const GradientContext& c) { return Tensors{c.grad(), c.grad()}; })
      .kernel([](std::span<const Array>, std::span<Array>) {})
      .doc("Named like a product.");
}

TEST_F(DescribeTest, OpsOfUsersWithNamesOfProductsCountAsAnyOther) {
  static const OpRegistration conv = user_op("DescribeTestConvInput"), product = user_op("DescribeTestMatMul");
  const Tensor scalar = placeholder(f32, {}), many = placeholder(f32, {3000});
  for (const auto& [name, op] : {std::pair("conv", conv), std::pair("product", product)})
    many | Layer(name, [&](const Tensor& x) { return add_tensor(op, {scalar, x}, {.name = "output"}); });
  const std::string text = describe_layers(graph);
  EXPECT_EQ(mflop_of(text, "conv"), 0.003) << text;
  EXPECT_EQ(mflop_of(text, "product"), 0.003) << text;
}

TEST_F(DescribeTest, ALayerThatFailsHasNoLine) {
  EXPECT_EQ(describe_layers(graph), "no layers\n");
  const Layer broken("broken",
                     [](const Tensor& x) { return x | fully_connected("fc", {.units = 2}) | conv2d("c", {}); });
  EXPECT_THROW(images() | broken, Error);
  EXPECT_EQ(describe_layers(graph), "no layers\n");
}

TEST_F(DescribeTest, LayersSayTheirShapesAtLevelDebugOnly) {
  const Tensor x = images();
  x | max_pool("pool", 2);
  EXPECT_EQ(logged, "debug pool  input [?, 8, 8, 3] -> output [?, 4, 4, 3]\n");
  const LogRedirect quiet([](LogLevel, std::string_view text) { ADD_FAILURE() << text; }, LogLevel::info);
  x | max_pool("quiet", 2);
}

TEST_F(DescribeTest, TrainableVariablesAreListedWithTheirTotal) {
  EXPECT_EQ(describe_trainable_vars(graph), "no trainable variables\n");
  {
    const TrainTowerContext tower("");
    model(images());
    const DeviceScope device("cpu:1");
    get_variable("table", {.shape = {1000, 1000}, .dtype = f64});
  }
  EXPECT_EQ(describe_trainable_vars(graph),
            "trainable variable  shape          type  elements   device\n"
            "conv0/W             [3, 3, 3, 16]  f32   432        cpu:0\n"
            "conv0/b             [16]           f32   16         cpu:0\n"
            "bn/gamma            [16]           f32   16         cpu:0\n"
            "bn/beta             [16]           f32   16         cpu:0\n"
            "fc/W                [256, 10]      f32   2,560      cpu:0\n"
            "fc/b                [10]           f32   10         cpu:0\n"
            "table               [1000, 1000]   f64   1,000,000  cpu:1\n"
            "7 trainable variables, 1,003,050 elements, 8.01 MB\n");
}

}  // namespace
}  // namespace belfry
