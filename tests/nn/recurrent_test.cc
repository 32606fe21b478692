#include "belfry/nn/recurrent.h"

#include "tests/nn/nn_test_support.h"

namespace belfry {
namespace {

class RecurrentLayersTest : public NnTest {
 protected:
  static Array sequence(const Shape& shape) {
    Array out(f32, shape);
    for (std::int64_t i = 0; i < out.elements(); ++i) out.set_item(i, static_cast<double>(i % 17) / 17 - 0.5);
    return out;
  }
  void expect_same(Session& session, const Tensor& a, const Tensor& b, const Feeds& feeds) {
    const std::vector<Array> out = session.run(std::vector<Fetch>{a, b}, feeds);
    ASSERT_EQ(out[0].shape(), out[1].shape());
    for (std::int64_t i = 0; i < out[0].elements(); ++i) ASSERT_EQ(out[0].item(i), out[1].item(i)) << i;
  }
};

TEST_F(RecurrentLayersTest, VariablesAreNamedByLayerAndHaveTheGatesSideBySide) {
  const Tensor x = placeholder(f32, {kAny, kAny, 3});
  const Tensor y = x | lstm("rnn", {.units = 5, .layers = 2}), z = x | gru("gru", {.units = 4, .use_bias = false}),
               w = x | gru({.units = 2})("biased");
  EXPECT_EQ(y.shape(), Shape({kAny, kAny, 5}));
  EXPECT_EQ(y.name(), "rnn/output");
  EXPECT_EQ(z.shape(), Shape({kAny, kAny, 4}));
  EXPECT_EQ(w.shape(), Shape({kAny, kAny, 2}));
  EXPECT_EQ(in(collection::kTrainableVariables),
            (Names{"rnn/layer0/W_x", "rnn/layer0/W_h", "rnn/layer0/b", "rnn/layer1/W_x", "rnn/layer1/W_h",
                   "rnn/layer1/b", "gru/layer0/W_x", "gru/layer0/W_h", "biased/layer0/W_x", "biased/layer0/W_h",
                   "biased/layer0/b", "biased/layer0/b_h"}));
  EXPECT_EQ(variable("rnn/layer0/W_x").shape(), Shape({3, 20}));
  EXPECT_EQ(variable("rnn/layer1/W_x").shape(), Shape({5, 20}));
  EXPECT_EQ(variable("rnn/layer1/W_h").shape(), Shape({5, 20}));
  EXPECT_EQ(variable("gru/layer0/W_h").shape(), Shape({4, 12}));
  EXPECT_EQ(variable("biased/layer0/b_h").shape(), Shape({6}));
}

TEST_F(RecurrentLayersTest, AStackIsOneLayerAfterTheOtherWithTheirStates) {
  const Tensor x = placeholder(f32, {4, 2, 3}), h = constant(sequence({2, 5})), c = constant(sequence({2, 5}));
  const std::vector<LstmState> initial{{h, c}, {c * 2.f, h * 3.f}};
  const LstmLayerResult r = lstm_with_state(x, "rnn", {.units = 5, .layers = 2}, initial);
  ASSERT_EQ(r.last.size(), 2u);
  const auto weights = [&](const std::string& layer) {
    return LstmWeights{variable(layer + "/W_x"), variable(layer + "/W_h"), variable(layer + "/b")};
  };
  const LstmResult first = lstm(x, weights("rnn/layer0"), initial[0]);
  const LstmResult second = lstm(first.h, weights("rnn/layer1"), initial[1]);
  Session session(graph);
  session.initialize();
  const Feeds feeds{{x, sequence({4, 2, 3})}};
  expect_same(session, r.output, second.h, feeds);
  expect_same(session, r.last[0].c, first.last.c, feeds);
  expect_same(session, r.last[1].h, second.last.h, feeds);
}

TEST_F(RecurrentLayersTest, AStackOfGruIsOneLayerAfterTheOtherWithTheirStates) {
  const Tensor x = placeholder(f32, {4, 2, 3}), h = constant(sequence({2, 5}));
  const GruLayerResult r = gru_with_state(x, "rnn", {.units = 5, .layers = 2}, {h, h * 2.f});
  const auto weights = [&](const std::string& layer) {
    return GruWeights{variable(layer + "/W_x"), variable(layer + "/W_h"), variable(layer + "/b"),
                      variable(layer + "/b_h")};
  };
  const GruResult first = gru(x, weights("rnn/layer0"), h);
  const GruResult second = gru(first.h, weights("rnn/layer1"), h * 2.f);
  Session session(graph);
  session.initialize();
  const Feeds feeds{{x, sequence({4, 2, 3})}};
  expect_same(session, r.output, second.h, feeds);
  expect_same(session, r.last[0], first.last, feeds);
  expect_same(session, r.last[1], second.last, feeds);
}

TEST_F(RecurrentLayersTest, BatchFirstSwapsTheAxesOfInputAndOutput) {
  const Tensor x = placeholder(f32, {2, 4, 3}), lengths = constant(Array::of<std::int32_t>({2}, {4, 1}));
  const Tensor y = x | lstm("rnn", {.units = 5, .batch_first = true, .lengths = lengths});
  EXPECT_EQ(y.shape(), Shape({2, 4, 5}));
  const auto reuse = VariableScope::reopen({.reuse = Reuse::yes});
  const Tensor swapped = transpose(x, {1, 0, 2}) | lstm("rnn", {.units = 5, .lengths = lengths});
  Session session(graph);
  session.initialize();
  const Feeds feeds{{x, sequence({2, 4, 3})}};
  expect_same(session, y, transpose(swapped, {1, 0, 2}), feeds);
  EXPECT_EQ(session.run(y, feeds).item(4 * 5 + 5), 0) << "the second row has one step";
}

TEST_F(RecurrentLayersTest, DropoutIsBetweenLayersAndInTrainingOnly) {
  const auto dropouts = [&] {
    return std::ranges::count_if(graph.operations(), [](const Operation& op) { return op.type() == "Dropout"; });
  };
  const Tensor x = placeholder(f32, {4, 2, 3});
  {
    const TrainTowerContext tower("");
    x | lstm("one", {.units = 5, .dropout = 0.5});
    EXPECT_EQ(dropouts(), 0) << "nothing comes between";
    x | lstm("rnn", {.units = 5, .layers = 3, .dropout = 0.5});
    EXPECT_EQ(dropouts(), 2);
  }
  const PredictTowerContext tower("predict");
  x | lstm("rnn", {.units = 5, .layers = 3, .dropout = 0.5});
  EXPECT_EQ(dropouts(), 2);
}

TEST_F(RecurrentLayersTest, TheForgetGateMayBeginOpen) {
  placeholder(f32, {4, 2, 3}) | lstm("rnn", {.units = 2, .forget_bias = 1});
  Session session(graph);
  session.initialize();
  const Array b = session.value(variable("rnn/layer0/b"));
  for (int i = 0; i < 8; ++i) EXPECT_EQ(b.item(i), i == 2 || i == 3 ? 1 : 0) << i;
}

// The first id of a sequence has to be remembered to its end.
TEST_F(RecurrentLayersTest, AModelOfSequencesLearns) {
  constexpr std::int64_t kTime = 5, kBatch = 16, kIds = 4;
  const TrainTowerContext tower("");
  const Tensor ids = placeholder(i32, {kTime, kBatch}), first = placeholder(i32, {kBatch});
  const LstmLayerResult r = lstm_with_state(ids | embedding("ids", {.rows = kIds, .width = 8}), "rnn", {.units = 16});
  const Tensor logits = fully_connected(r.last[0].h, "fc", {.units = kIds});
  const Tensor loss = reduce_mean(sparse_softmax_cross_entropy(logits, first));
  const Operation train = adam({.learning_rate = 0.05f})->minimize(loss);
  Session session(graph);
  session.initialize();
  Array sequences(i32, {kTime, kBatch}), wanted(i32, {kBatch});
  for (std::int64_t i = 0; i < sequences.elements(); ++i)
    sequences.set_item(i, static_cast<double>(i * i * 7 % 11 % 4));
  for (std::int64_t i = 0; i < kBatch; ++i) wanted.set_item(i, sequences.item(i));
  const Feeds feeds{{ids, sequences}, {first, wanted}};
  const double before = session.run(loss, feeds).item();
  for (int step = 0; step < 60; ++step) session.run(train, feeds);
  EXPECT_LT(session.run(loss, feeds).item(), 0.1 * before);
}

TEST_F(RecurrentLayersTest, MistakesNameTheLayerAndItsLine) {
  const auto has = [](const std::string& text, const std::string& part) { EXPECT_TRUE(contains(text, part)) << text; };
  const Tensor x = placeholder(f32, {4, 2, 3}, "x");
  has(error_of([&] { x | lstm("rnn", {}); }), "[lstm 'rnn'] expected .units above 0, got 0 (at ");
  has(error_of([&] { x | lstm("rnn", {}); }), "recurrent_test.cc:");
  has(error_of([&] { x | gru("rnn", {.units = 2, .layers = 0}); }), "[gru 'rnn'] expected .layers above 0, got 0");
  has(error_of([&] { x | gru("rnn", {.units = 2, .dropout = 1}); }), "[gru 'rnn'] expected .dropout in [0, 1), got 1");
  has(error_of([&] { placeholder(f32, {4, 3}, "y") | lstm("rnn", {.units = 2}); }),
      "[lstm 'rnn'] expected sequences [time, batch, features] (rank 3), got 'y' [4, 3]");
  has(error_of([&] { placeholder(f32, {4, 3}, "z") | lstm("rnn", {.units = 2, .batch_first = true}); }),
      "[lstm 'rnn'] expected sequences [batch, time, features] (rank 3), got 'z' [4, 3]");
  has(error_of([&] { placeholder(f32, {4, 3, kAny}, "w") | lstm("rnn", {.units = 2}); }),
      "[lstm 'rnn'] expected a known number of features in axis 2, got 'w' [4, 3, ?]");
  has(error_of([&] { lstm_with_state(x, "rnn", {.units = 2, .layers = 2}, {{}}); }),
      "[lstm 'rnn'] expected an initial state for each of 2 layers or none, got 1");
  EXPECT_EQ(graph.variables().size(), 0u) << "what fails leaves nothing behind";
}

}  // namespace
}  // namespace belfry
