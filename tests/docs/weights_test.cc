// The code of docs/weights.md: ./dev docs checks that every block there stands here word for word.
#include <belfry/belfry.h>
#include <gtest/gtest.h>

#include "tests/support/files.h"

namespace bf = belfry;

namespace {

bf::Array ramp(const bf::Shape& shape) {
  bf::Array out(bf::f32, shape);
  for (std::int64_t i = 0; i < out.elements(); ++i) out.set_item(i, static_cast<double>(i));
  return out;
}

}  // namespace

TEST(WeightsPage, FromPytorchAndBack) {
  const bf::testing_support::TempDir temporary;
  const std::string directory = temporary.path();
  bf::write_safetensors(directory + "/net.safetensors", {{"layer1.weight", ramp({8, 3, 3, 3})},
                                                         {"layer1.bias", ramp({8})},
                                                         {"layer2.weight", ramp({8})},
                                                         {"layer2.bias", ramp({8})},
                                                         {"layer2.running_mean", ramp({8})},
                                                         {"layer2.running_var", ramp({8})},
                                                         {"layer2.num_batches_tracked", bf::Array(std::int64_t{7})},
                                                         {"fc.weight", ramp({10, 8 * 4 * 4})},
                                                         {"fc.bias", ramp({10})}});
  bf::Graph graph;
  const bf::GraphScope scope(graph);
  const bf::Tensor image = bf::placeholder({"image", bf::f32, {bf::kAny, 4, 4, 3}});
  image | bf::conv2d("conv1", {.filters = 8}) | bf::batch_norm("norm2", {.training = false}) |
      bf::fully_connected("fc", {.units = 10});
  bf::Session session(graph);
  session.initialize();

  const bf::NameTable names{{R"(layer1\.weight)", "conv1/W"},
                            {R"(layer1\.bias)", "conv1/b"},
                            {R"(layer(\d+)\.weight)", "norm$1/gamma"},
                            {R"(layer(\d+)\.bias)", "norm$1/beta"},
                            {R"(layer(\d+)\.running_mean)", "norm$1/mean/EMA"},
                            {R"(layer(\d+)\.running_var)", "norm$1/variance/EMA"},
                            {R"(.*\.num_batches_tracked)", "-"},
                            {R"(fc\.weight)", "fc/W"},
                            {R"(fc\.bias)", "fc/b"}};
  bf::SaverRestore(directory + "/net.safetensors",
                   {.names = names, .layout = bf::WeightLayout::pytorch, .strict = true})
      .init(session);

  const bf::Array conv = session.value(graph.get_variable_by_name("conv1/W"));
  EXPECT_EQ(conv.shape(), (bf::Shape{3, 3, 3, 8}));
  EXPECT_EQ(conv.item(1), 27) << "the second filter's first weight";
  const bf::Array fc = session.value(graph.get_variable_by_name("fc/W"));
  EXPECT_EQ(fc.shape(), (bf::Shape{128, 10}));
  EXPECT_EQ(fc.item(10), 16) << "the first pixel of the second channel";

  bf::export_model(session, directory + "/for_pytorch.safetensors",
                   {.names = names, .layout = bf::WeightLayout::pytorch});
  const auto before = bf::read_safetensors(directory + "/net.safetensors").tensors;
  const auto after = bf::read_safetensors(directory + "/for_pytorch.safetensors").tensors;
  EXPECT_EQ(after.size(), before.size() - 1);
  for (const auto& [name, value] : after) EXPECT_TRUE(bf::equal(value, before.at(name))) << name;
}

TEST(WeightsPage, TableFromAFileAndNumpy) {
  const bf::testing_support::TempDir temporary;
  const std::string directory = temporary.path();
  bf::testing_support::put_bytes(directory + "/names.txt", R"(# theirs            ours       : rule
embed               -> words/W
gru/bias            -> gru/layer0/b & gru/layer0/b_h
gru/kernel          -> gru/layer0/W_x
gru/recurrent       -> gru/layer0/W_h
head/kernel         -> head/W     : linear
head/bias           -> head/b
)");
  bf::write_npz(directory + "/net.npz", {{"embed", ramp({20, 4})},
                                         {"gru/bias", ramp({2, 9})},
                                         {"gru/kernel", ramp({4, 9})},
                                         {"gru/recurrent", ramp({3, 9})},
                                         {"head/kernel", ramp({2, 3})},
                                         {"head/bias", ramp({2})}});
  bf::Graph graph;
  const bf::GraphScope scope(graph);
  const bf::Tensor ids = bf::placeholder({"ids", bf::i32, {bf::kAny, bf::kAny}});
  ids | bf::embedding("words", {.rows = 20, .width = 4}) | bf::gru("gru", {.units = 3}) |
      bf::dense("head", {.units = 2});
  bf::Session session(graph);
  session.initialize();

  const bf::NameTable names = bf::NameTable::from_file(directory + "/names.txt");
  bf::NpzRestore(directory + "/net.npz", {.names = names, .layout = bf::WeightLayout::keras, .strict = true})
      .init(session);

  EXPECT_EQ(session.value(graph.get_variable_by_name("gru/layer0/b_h")).item(0), 12) << "r is the second gate there";
  EXPECT_EQ(session.value(graph.get_variable_by_name("head/W")).item(1), 3);
}
