// A network of PyTorch's: its weights, as the safetensors package wrote them, give the same outputs here.
// tests/python/make_pytorch_net.py made the files.
#include <gtest/gtest.h>

#include "belfry/belfry.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/repository.h"

namespace belfry {
namespace {

using testing_support::repository_file;
using testing_support::TempDir;

std::vector<NameRow> pytorch_rows() {
  return {{R"(features\.0\.weight)", "conv/W"},
          {R"(features\.0\.bias)", "conv/b"},
          {R"(features\.(1|7)\.weight)", "norm$1/gamma"},
          {R"(features\.(1|7)\.bias)", "norm$1/beta"},
          {R"(features\.1\.running_mean)", "norm1/mean/EMA"},
          {R"(features\.1\.running_var)", "norm1/variance/EMA"},
          {R"(.*\.num_batches_tracked)", "-"},
          {R"(features\.(2|5)\.weight)", "prelu$1/alpha"},
          {R"(features\.4\.weight)", "depthwise/W"},
          {R"(features\.4\.bias)", "depthwise/b"},
          {R"(features\.6\.weight)", "up/W"},
          {R"(features\.6\.bias)", "up/b"},
          {R"(features\.9\.weight)", "grouped/W"},
          {R"(words\.weight)", "words/W"},
          {R"((lstm|gru)\.weight_ih_l(\d))", "$1/layer$2/W_x"},
          {R"((lstm|gru)\.weight_hh_l(\d))", "$1/layer$2/W_h"},
          {R"((lstm)\.bias_ih_l(\d))", "$1/layer$2/b"},
          {R"((lstm)\.bias_hh_l(\d))", "$1/layer$2/b"},
          {R"((gru)\.bias_ih_l(\d))", "$1/layer$2/b"},
          {R"((gru)\.bias_hh_l(\d))", "$1/layer$2/b_h"},
          {R"(back\.weight_ih_l0)", "there/W_x"},
          {R"(back\.weight_hh_l0)", "there/W_h"},
          {R"(back\.bias_ih_l0)", "there/b"},
          {R"(back\.bias_hh_l0)", "there/b"},
          {R"(back\.weight_ih_l0_reverse)", "back/W_x"},
          {R"(back\.weight_hh_l0_reverse)", "back/W_h"},
          {R"(back\.bias_ih_l0_reverse)", "back/b"},
          {R"(back\.bias_hh_l0_reverse)", "back/b"},
          {R"(plain\.weight_ih_l0)", "plain/W_x"},
          {R"(plain\.weight_hh_l0)", "plain/W_h"},
          {R"(plain\.bias_ih_l0)", "plain/b", "sum"},
          {R"(plain\.bias_hh_l0)", "plain/b", "sum"},
          {R"(attention\.in_proj_weight)", "attention/qkv/W"},
          {R"(attention\.in_proj_bias)", "attention/qkv/b"},
          {R"(cross\.in_proj_weight)", "cross/q/W & cross/kv/W"},
          {R"(cross\.in_proj_bias)", "cross/q/b & cross/kv/b"},
          {R"((attention|cross)\.out_proj\.weight)", "$1/proj/W"},
          {R"((attention|cross)\.out_proj\.bias)", "$1/proj/b"},
          {R"(norm\.weight)", "norm/gamma"},
          {R"(norm\.bias)", "norm/beta"},
          {R"(conv\.weight)", "conv1d/W"},
          {R"(conv\.bias)", "conv1d/b"},
          {R"(fc(\d)\.weight)", "fc$1/W"},
          {R"(fc(\d)\.bias)", "fc$1/b"}};
}

NameTable pytorch_table() { return NameTable(pytorch_rows()); }

NameTable pytorch_table_without(std::string_view part) {
  std::vector<NameRow> out = pytorch_rows();
  std::erase_if(out, [&](const NameRow& row) { return contains(row.theirs, part); });
  return NameTable(out);
}

// The same network; `format` says how our images are flattened.
Tensor pytorch_network(const Tensor& image, const Tensor& ids, DataFormat format) {
  const auto channels = [&](const Tensor& x) { return format == DataFormat::nchw ? transpose(x, {0, 3, 1, 2}) : x; };
  const Tensor seen =
      channels(image) | conv2d("conv", {.filters = 4, .data_format = format}) |
      batch_norm("norm1", {.training = false, .data_format = format}) | prelu("prelu2", {.data_format = format}) |
      max_pool("pool1", {.window = 2, .data_format = format}) |
      depthwise_conv2d("depthwise", {.multiplier = 2, .data_format = format}) | prelu("prelu5", {.shared = true}) |
      conv2d_transpose("up", {.filters = 4, .kernel = 2, .strides = 2, .data_format = format}) |
      group_norm("norm7", {.groups = 2, .activation = relu, .data_format = format}) |
      conv2d("grouped", {.filters = 4, .groups = 2, .use_bias = false, .data_format = format}) |
      avg_pool("pool2", {.window = 2, .data_format = format}) |
      fully_connected("fc1", {.units = 5, .activation = relu});
  const Tensor words = ids | embedding("words", {.rows = 7, .width = 4});
  const BidirectionalResult both =
      bidirectional(cell::lstm("there", {.units = 3}), cell::lstm("back", {.units = 3}), words, {.batch_first = true});
  Tensor x =
      concat(std::vector<Tensor>{words | lstm("lstm", {.units = 3, .layers = 2, .batch_first = true}), both.output}, 2);
  x = x | gru("gru", {.units = 4, .batch_first = true});
  x = rnn(cell::plain("plain", {.units = 4}), x, {.batch_first = true}).output;
  x = x | conv1d("conv1d", {.filters = 4});
  x = x + (x | multi_head_attention("attention", {.heads = 2}));
  x = x + (x | multi_head_attention("cross", {.heads = 2, .context = words}));
  const Tensor read = reduce_mean(x | layer_norm("norm"), {.axes = {1}});
  return concat(std::vector<Tensor>{seen, read}, 1) | fully_connected("fc2", {.units = 3});
}

struct PytorchNet {
  Graph graph;
  GraphScope scope{graph};
  Tensor image = placeholder({"image", f32, {kAny, 6, 4, 2}});
  Tensor ids = placeholder({"ids", i32, {kAny, 5}});
  Tensor output;
  Session session;

  explicit PytorchNet(DataFormat format = DataFormat::nhwc)
      : output(pytorch_network(image, ids, format)), session(graph) {
    session.initialize();
  }

  // The largest difference from PyTorch's output.
  double difference() {
    const auto run = read_npz(repository_file("tests/python/pytorch_net_run.npz"));
    const Array got = session.run(output, {{image, run.at("image")}, {ids, run.at("ids")}});
    double most = 0;
    for (std::int64_t i = 0; i < got.elements(); ++i)
      most = std::max(most, std::abs(got.item(i) - run.at("output").item(i)));
    return most;
  }
};

const char* const kPytorchFile = "tests/python/pytorch_net.safetensors";

TEST(PytorchWeights, GiveTheSameOutputs) {
  for (const DataFormat format : {DataFormat::nhwc, DataFormat::nchw}) {
    PytorchNet net(format);
    EXPECT_GT(net.difference(), 0.1);
    const InitReport report = SaverRestore(repository_file(kPytorchFile),
                                           {.names = pytorch_table(), .layout = WeightLayout::pytorch, .strict = true})
                                  .init(net.session);
    EXPECT_EQ(report.restored.size(), net.graph.variables().size());
    EXPECT_LT(net.difference(), 1e-5);
  }
}

TEST(PytorchWeights, GoBackBitForBit) {
  TempDir dir;
  PytorchNet net;
  const std::string file = repository_file(kPytorchFile);
  SaverRestore(file, {.names = pytorch_table(), .layout = WeightLayout::pytorch}).init(net.session);
  const Array first = net.session.value(net.graph.get_variable_by_name("lstm/layer1/b"));
  export_model(net.session, dir / "back.safetensors", {.names = pytorch_table(), .layout = WeightLayout::pytorch});

  const auto theirs = read_safetensors(file).tensors, back = read_safetensors(dir / "back.safetensors").tensors;
  for (const auto& [name, value] : theirs) {
    if (name.ends_with("num_batches_tracked")) continue;
    ASSERT_TRUE(back.contains(name)) << name;
    const bool is_term = !name.starts_with("gru") && contains(name, ".bias_");
    if (!is_term) {
      EXPECT_TRUE(equal(back.at(name), value)) << name << ": " << to_string(back.at(name));
    } else if (contains(name, "_hh_")) {
      EXPECT_TRUE(equal(back.at(name), Array::zeros(f32, value.shape()))) << name << " is part of the other bias";
    }
  }
  EXPECT_EQ(back.size(), theirs.size() - 1);
  EXPECT_TRUE(equal(back.at("lstm.bias_ih_l1"), first));

  PytorchNet again;
  SaverRestore(dir / "back.safetensors",
               {.names = pytorch_table_without("num_batches_tracked"), .layout = WeightLayout::pytorch, .strict = true})
      .init(again.session);
  for (const Variable& v : net.graph.variables())
    EXPECT_TRUE(equal(again.session.value(again.graph.get_variable_by_name(v.name())), net.session.value(v)))
        << v.name();
}

}  // namespace
}  // namespace belfry
