// The handbook's code on TensorFlow's checkpoints: ./dev docs checks that every block there stands here word for word.
#include <belfry/belfry.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>
#include <string>

#include "tests/support/repository.h"

namespace bf = belfry;

namespace {

std::string tf_file(const std::string& name) {
  return bf::testing_support::repository_file("tests/session/data/tf") + "/" + name;
}

// Element i of the tensors that make.py fills.
bf::Array tf_formula(const bf::Shape& shape, std::int64_t name_length) {
  bf::Array out(bf::f32, shape);
  for (std::int64_t i = 0; i < out.elements(); ++i)
    out.set_item(i, (static_cast<double>((i + name_length) % 23) - 11) * 0.25);
  return out;
}

}  // namespace

// Scores of a network that Tensorpack's own layers computed from these weights.
TEST(Handbook, WeightsFromTensorFlow) {
  const std::string path = tf_file("layers/model");
  bf::Graph graph;
  const bf::GraphScope scope(graph);
  const bf::Tensor image = bf::placeholder({"image", bf::f32, {bf::kAny, 6, 6, 2}});

  const auto bn_relu = [](const bf::Tensor& x) { return x | bf::batch_norm("bn", {.activation = bf::relu}); };
  const bf::PredictTowerContext tower("");
  const bf::Tensor scores = image | bf::conv2d("conv0", {.filters = 3, .kernel = 3, .activation = bn_relu}) |
                            bf::max_pool("pool0", 2) | bf::fully_connected("fc", {.units = 4});

  bf::Session session(graph);
  session.initialize();
  bf::TfRestore(path, {.ignore = {"scores"}, .strict = true}).init(session);

  const bf::Array x = tf_formula({2, 6, 6, 2}, 1), expected = bf::read_tf_checkpoint(path).at("scores");
  const bf::Array got = session.run(scores, {{image, x}});
  ASSERT_EQ(got.shape(), expected.shape());
  double largest = 0;
  for (std::int64_t i = 0; i < got.elements(); ++i) largest = std::max(largest, std::abs(expected.item(i)));
  EXPECT_GT(largest, 1);
  // Two layers of sums of at most 27 terms, in another order.
  for (std::int64_t i = 0; i < got.elements(); ++i) EXPECT_NEAR(got.item(i), expected.item(i), 1e-5 * largest) << i;
}

TEST(Handbook, TensorsOfATensorFlowCheckpoint) {
  const std::string path = tf_file("tf2");
  std::ostringstream out;
  for (const bf::TfTensor& tensor : bf::list_tf_checkpoint(path))  // reads only the index
    out << tensor.name << " " << tensor.type << " " << to_string(tensor.shape) << "\n";
  const std::map<std::string, bf::Array> weights = bf::read_tf_checkpoint(path);
  EXPECT_EQ(out.str(),
            "_CHECKPOINTABLE_OBJECT_GRAPH string []\n"
            "net/halves half [5]\n"
            "net/kernel float [3, 4]\n"
            "net/layers/conv0/W float [2, 2]\n"
            "net/layers/v1.5 int32 [3]\n"
            "save_counter int64 []\n"
            "steps int64 []\n");
  EXPECT_EQ(weights.at("net/halves").dtype(), bf::f32);
}
