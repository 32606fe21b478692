// Networks of Keras and of TensorFlow 1: their weights, in NumPy's files, give the same outputs here.
// tests/python/make_keras_net.py made the files.
#include <gtest/gtest.h>

#include "belfry/belfry.h"
#include "tests/support/files.h"
#include "tests/support/repository.h"

namespace belfry {
namespace {

using testing_support::repository_file;
using testing_support::TempDir;
using Arrays = std::map<std::string, Array>;

double largest_difference(const Array& a, const Array& b) {
  double most = a.shape() == b.shape() ? 0 : INFINITY;
  for (std::int64_t i = 0; i < a.elements(); ++i) most = std::max(most, std::abs(a.item(i) - b.item(i)));
  return most;
}

NameTable keras_table() {
  return {{"norm/moving_(mean|variance)", "norm/$1/EMA"},
          {"depthwise/depthwise_kernel", "depthwise/W"},
          {"separable/depthwise_kernel", "separable/depthwise/W"},
          {"separable/pointwise_kernel", "separable/pointwise/W"},
          {"prelu/alpha", "prelu/alpha"},
          {"words/embeddings", "words/W"},
          {R"((\w+)/\1_cell/kernel)", "$1/layer0/W_x"},
          {R"((\w+)/\1_cell/recurrent_kernel)", "$1/layer0/W_h"},
          {"lstm/lstm_cell/bias", "lstm/layer0/b"},
          {"gru/gru_cell/bias", "gru/layer0/b & gru/layer0/b_h"},
          {"attention/query/kernel", "attention/qkv/W", "reshape 4 2 2, part 0/3"},
          {"attention/key/kernel", "attention/qkv/W", "reshape 4 2 2, part 1/3"},
          {"attention/value/kernel", "attention/qkv/W", "reshape 4 2 2, part 2/3"},
          {"attention/query/bias", "attention/qkv/b", "reshape 2 2, part 0/3"},
          {"attention/key/bias", "attention/qkv/b", "reshape 2 2, part 1/3"},
          {"attention/value/bias", "attention/qkv/b", "reshape 2 2, part 2/3"},
          {"attention/attention_output/kernel", "attention/proj/W", "reshape 2 2 4"},
          {"attention/attention_output/bias", "attention/proj/b"},
          {"(conv|up|conv1d|fc1|fc2)/kernel", "$1/W"},
          {"(conv|up|conv1d|fc1|fc2|depthwise|separable)/bias", "$1/b"}};
}

struct KerasNet {
  Graph graph;
  GraphScope scope{graph};
  Tensor image = placeholder({"image", f32, {kAny, 6, 4, 2}});
  Tensor ids = placeholder({"ids", i32, {kAny, 5}});
  Tensor output = build();
  Session session{graph};

  KerasNet() { session.initialize(); }

  Tensor build() const {
    const Tensor seen = image | conv2d("conv", {.filters = 4}) |
                        batch_norm("norm", {.epsilon = 1e-3, .training = false, .activation = relu}) |
                        depthwise_conv2d("depthwise", {.multiplier = 2}) |
                        separable_conv2d("separable", {.filters = 4, .multiplier = 2}) | prelu("prelu") |
                        max_pool("pool1", 2) | conv2d_transpose("up", {.filters = 4, .strides = 2}) |
                        avg_pool("pool2", 2) | fully_connected("fc1", {.units = 5, .activation = relu});
    Tensor x = ids | embedding("words", {.rows = 7, .width = 4}) | lstm("lstm", {.units = 3, .batch_first = true}) |
               gru("gru", {.units = 4, .batch_first = true}) | conv1d("conv1d", {.filters = 4});
    x = x + (x | multi_head_attention("attention", {.heads = 2}));
    const Tensor read = reduce_mean(x | layer_norm("layer_norm", {.epsilon = 1e-3}), {.axes = {1}});
    return concat(std::vector<Tensor>{seen, read}, 1) | fully_connected("fc2", {.units = 3});
  }

  double error() {
    const Arrays run = read_npz(repository_file("tests/python/keras_net_run.npz"));
    return largest_difference(session.run(output, {{image, run.at("image")}, {ids, run.at("ids")}}), run.at("output"));
  }
};

TEST(KerasWeights, GiveTheSameOutputs) {
  KerasNet net;
  EXPECT_GT(net.error(), 0.1);
  NpzRestore(repository_file("tests/python/keras_net.npz"),
             {.names = keras_table(), .layout = WeightLayout::keras, .strict = true})
      .init(net.session);
  EXPECT_LT(net.error(), 1e-5);
}

// Exports with the same table and layout; every value must be the one that was read.
void expect_back(Session& session, const std::string& file, const ExportOptions& options) {
  TempDir dir;
  NpzRestore(file, {.names = options.names, .layout = options.layout}).init(session);
  export_model(session, dir / "back.npz", options);
  const Arrays back = read_npz(dir / "back.npz");
  Arrays theirs;
  for (const auto& [name, value] : read_npz(file)) theirs.emplace(name.substr(0, name.find(':')), value);
  EXPECT_EQ(back.size(), theirs.size());
  for (const auto& [name, value] : theirs) {
    ASSERT_TRUE(back.contains(name)) << name;
    // The forget bias was added and taken away again.
    EXPECT_LE(largest_difference(back.at(name), value), options.layout == WeightLayout::tensorflow1 ? 1e-7 : 0) << name;
  }
}

TEST(KerasWeights, GoBackBitForBit) {
  KerasNet net;
  expect_back(net.session, repository_file("tests/python/keras_net.npz"),
              {.names = keras_table(), .layout = WeightLayout::keras});
}

// Each cell's kernel holds the weights of its inputs and, below them, those of its state.
NameTable tensorflow1_table() {
  return {{"rnn/multi_rnn_cell/cell_0/lstm_cell/kernel", "first/W_x & first/W_h"},
          {"rnn/multi_rnn_cell/cell_0/lstm_cell/bias", "first/b"},
          {"rnn/multi_rnn_cell/cell_1/basic_lstm_cell/kernel", "second/W_x & second/W_h"},
          {"rnn/multi_rnn_cell/cell_1/basic_lstm_cell/bias", "second/b"}};
}

struct Tensorflow1Net {
  Graph graph;
  GraphScope scope{graph};
  Tensor x = placeholder({"x", f32, {kAny, kAny, 2}});
  Tensor output = rnn(cell::lstm("second", {.units = 3}),
                      rnn(cell::lstm("first", {.units = 4}), x, {.batch_first = true}).output, {.batch_first = true})
                      .output;
  Session session{graph};

  Tensorflow1Net() { session.initialize(); }
  double error() {
    const Arrays run = read_npz(repository_file("tests/python/tensorflow1_net_run.npz"));
    return largest_difference(session.run(output, {{x, run.at("x")}}), run.at("output"));
  }
};

TEST(Tensorflow1Weights, GiveTheSameOutputs) {
  Tensorflow1Net net;
  EXPECT_GT(net.error(), 0.1);
  NpzRestore(repository_file("tests/python/tensorflow1_net.npz"),
             {.names = tensorflow1_table(), .layout = WeightLayout::tensorflow1, .strict = true})
      .init(net.session);
  EXPECT_LT(net.error(), 1e-5);
  expect_back(net.session, repository_file("tests/python/tensorflow1_net.npz"),
              {.names = tensorflow1_table(), .layout = WeightLayout::tensorflow1});
}

}  // namespace
}  // namespace belfry
