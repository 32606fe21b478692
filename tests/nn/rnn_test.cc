#include "belfry/nn/rnn.h"

#include <fmt/core.h>

#include "tests/nn/rnn_test_support.h"

namespace belfry {
namespace {

constexpr std::int64_t kRnnTime = 4;

class RnnTest : public NnTest {
 protected:
  static Array numbers(const Shape& shape, int first = 0) {
    Array out(f32, shape);
    for (std::int64_t i = 0; i < out.elements(); ++i)
      out.set_item(i, static_cast<double>((i * 7 + first) % 17) / 17 - 0.5);
    return out;
  }
  // Multiples of 1/32, up to 1/4: hundreds of products of two can be added without rounding.
  static Array exact_numbers(const Shape& shape) {
    Array out(f32, shape);
    for (std::int64_t i = 0; i < out.elements(); ++i) out.set_item(i, static_cast<double>(i * 7 % 17 - 8) / 32);
    return out;
  }
  static Tensors all_of(const RnnResult& r) {
    Tensors out{r.output};
    out.insert(out.end(), r.last.begin(), r.last.end());
    return out;
  }
  static std::vector<Array> run(Session& session, const Tensors& fetches, const Feeds& feeds) {
    return session.run(std::vector<Fetch>(fetches.begin(), fetches.end()), feeds);
  }
  static void expect_near(const Array& a, const Array& b, double tolerance) {
    ASSERT_EQ(a.shape(), b.shape());
    for (std::int64_t i = 0; i < a.elements(); ++i) ASSERT_NEAR(a.item(i), b.item(i), tolerance) << i;
  }
  static void expect_near(const std::vector<Array>& a, const std::vector<Array>& b, double tolerance) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t k = 0; k < a.size(); ++k) {
      SCOPED_TRACE(k == 0 ? "output" : "state " + std::to_string(k - 1));
      expect_near(a[k], b[k], tolerance);
    }
  }
};

// A session, three batch sizes; what is drawn at random differs between the forms, so nothing is.
TEST_F(RnnTest, EveryFormOfEveryCellGivesTheSame) {
  const PredictTowerContext tower("");
  std::vector<CellKind> kinds = cells_without_dropout();
  for (const CellKind& kind : cells_with_dropout()) kinds.push_back(kind);
  const Tensor x = placeholder(f32, {kRnnTime, kAny, kFeatures}), lengths = placeholder(i64, {kAny});
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    SCOPED_TRACE(kinds[k].name);
    const VariableScope own("kind" + std::to_string(k));
    const RnnCell cell = kinds[k].make();
    std::vector<Tensors> results;
    for (const CellForm& form : forms())
      for (const Tensor& of_rows : {Tensor(), lengths})
        results.push_back(all_of(form.build(cell, x, {.lengths = of_rows})));
    Session session(graph);
    session.initialize();
    for (const int batch : {3, 1, 0, 2}) {
      Array steps(i64, {batch});
      for (int b = 0; b < batch; ++b) steps.set_item(b, (b * 3 + 2) % (kRnnTime + 1));
      const Feeds feeds{{x, numbers({kRnnTime, batch, kFeatures})}, {lengths, steps}};
      for (std::size_t r = 2; r < results.size(); ++r) {
        SCOPED_TRACE(std::string(forms()[r / 2].name) + (r % 2 == 1 ? ", lengths" : "") + ", batch " +
                     std::to_string(batch));
        expect_near(run(session, results[r % 2], feeds), run(session, results[r], feeds), 1e-6);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(RnnTest, OneLengthDoesNotStandForAllRows) {
  const Tensor x = placeholder(f32, {kRnnTime, kAny, kFeatures}), lengths = placeholder(i64, {kAny});
  const Tensor y = rnn(cell::plain("cell", {.units = 3}), x, {.lengths = lengths}).output;
  Session session(graph);
  session.initialize();
  const auto run = [&](std::int64_t count) {
    session.run(y, {{x, numbers({kRnnTime, 2, kFeatures})}, {lengths, Array::full(i64, {count}, 1)}});
  };
  EXPECT_NO_THROW(run(2));
  EXPECT_NE(error_of([&] { run(1); }).find("expected 2 elements, got 1"), std::string::npos);
}

TEST_F(RnnTest, BeyondItsLengthARowGivesZerosAndKeepsItsState) {
  const PredictTowerContext tower("");
  const Tensor x = placeholder(f32, {kRnnTime, 3, kFeatures}),
               lengths = constant(Array::of<std::int32_t>({3}, {2, 0, 4}));
  for (const CellKind& kind : cells_without_dropout())
    for (const CellForm& form : forms()) {
      SCOPED_TRACE(kind.name + ", " + form.name);
      const VariableScope own(kind.name.substr(0, kind.name.find(' ')) + std::to_string(graph.variables().size()));
      const RnnCell cell = kind.make();
      Tensors initial;
      for (const std::int64_t size : cell.state_sizes()) initial.push_back(constant(numbers({3, size}, 5)));
      const RnnResult r = form.build(cell, x, {.initial = initial, .lengths = lengths});
      // Two steps of the first row, as if there were no more.
      Tensors first;
      for (const Tensor& t : initial) first.push_back(slice(t, {0, 0}, {1, kAny}));
      const RnnResult two = unroll(cell, slice(x, {0, 0, 0}, {2, 1, kAny}), {.initial = first});
      Session session(graph);
      session.initialize();
      const Feeds feeds{{x, numbers({kRnnTime, 3, kFeatures})}};
      const std::vector<Array> got = run(session, all_of(r), feeds), wanted = run(session, all_of(two), feeds);
      const std::int64_t size = cell.output_size();
      for (std::int64_t t = 0; t < kRnnTime; ++t)
        for (std::int64_t i = 0; i < size; ++i) {
          if (t < 2) {
            EXPECT_NEAR(got[0].item((t * 3) * size + i), wanted[0].item(t * size + i), 1e-6);
          } else {
            EXPECT_EQ(got[0].item((t * 3) * size + i), 0);
          }
          EXPECT_EQ(got[0].item((t * 3 + 1) * size + i), 0);
        }
      for (std::size_t k = 0; k < initial.size(); ++k)
        for (std::int64_t i = 0, n = cell.state_sizes()[k]; i < n; ++i) {
          EXPECT_NEAR(got[k + 1].item(i), wanted[k + 1].item(i), 1e-6);
          EXPECT_EQ(got[k + 1].item(n + i), numbers({3, n}, 5).values<float>()[static_cast<std::size_t>(n + i)]);
        }
    }
}

TEST_F(RnnTest, BatchFirstSwapsTheAxesOfInputAndOutput) {
  const Tensor x = placeholder(f32, {2, kRnnTime, kFeatures}), lengths = constant(Array::of<std::int32_t>({2}, {4, 1}));
  for (const CellForm& form : forms()) {
    SCOPED_TRACE(form.name);
    const VariableScope own("form" + std::to_string(graph.variables().size()));
    const RnnCell cell = cell::stacked("rnn", {stack_of_two(), cell::plain("top", {.units = 2})});
    const RnnResult a = form.build(cell, x, {.lengths = lengths, .batch_first = true}),
                    b = form.build(cell, transpose(x, {1, 0, 2}), {.lengths = lengths});
    Session session(graph);
    session.initialize();
    const Feeds feeds{{x, numbers({2, kRnnTime, kFeatures})}};
    const std::vector<Array> got = run(session, {a.output, a.last[3]}, feeds),
                             wanted = run(session, {transpose(b.output, {1, 0, 2}), b.last[3]}, feeds);
    for (int k = 0; k < 2; ++k)
      EXPECT_TRUE(equal(got[static_cast<std::size_t>(k)], wanted[static_cast<std::size_t>(k)]));
  }
}

TEST_F(RnnTest, ALayerAndAStackOfCellsHaveTheSameVariablesAndTheSameBits) {
  const Tensor x = placeholder(f32, {kAny, kAny, kFeatures});
  const LstmLayerResult layer = lstm_with_state(x, "rnn", {.units = 5, .layers = 2, .forget_bias = 1});
  const Names made = in(collection::kTrainableVariables);
  const auto reuse = VariableScope::reopen({.reuse = Reuse::yes});
  const RnnResult cells =
      rnn(cell::stacked("rnn", {cell::lstm("layer0", {.units = 5}), cell::lstm("layer1", {.units = 5})}), x);
  EXPECT_EQ(in(collection::kTrainableVariables), made);
  Session session(graph);
  session.initialize();
  const Feeds feeds{{x, numbers({kRnnTime, 3, kFeatures})}};
  EXPECT_TRUE(equal(session.run(layer.output, feeds), session.run(cells.output, feeds)));
  EXPECT_TRUE(equal(session.run(layer.last[1].c, feeds), session.run(cells.last[3], feeds)));
}

// The product with the inputs is one of all steps in a kernel and one of each step in cells, which need not sum in one
// order. With numbers whose sums are exact that does not matter, and nothing else may differ.
TEST_F(RnnTest, FusedAndWrittenOutAgreeToTheLastBit) {
  struct Size {
    int time, batch, features, units;
  };
  for (const Size& s :
       {Size{4, 1, 3, 2}, {4, 3, 5, 4}, {4, 20, 64, 48}, {5, 7, 130, 33}, {16, 1, 200, 100}, {35, 20, 200, 200}})
    for (const bool gated : {false, true}) {
      const std::string name =
          fmt::format("{}_{}_{}_{}_{}", gated ? "gru" : "lstm", s.time, s.batch, s.features, s.units);
      SCOPED_TRACE(name);
      const Initializer exact = [](const Shape& shape, DType) { return constant(exact_numbers(shape)); };
      const RnnCell cell = gated ? cell::gru(name, {.units = s.units, .kernel_initializer = exact})
                                 : cell::lstm(name, {.units = s.units, .kernel_initializer = exact});
      const Tensor x = placeholder(f32, {s.time, s.batch, s.features}), lengths = placeholder(i32, {s.batch});
      const RnnResult fused = rnn(cell, x, {.lengths = lengths}), steps = unroll(cell, x, {.lengths = lengths});
      Session session(graph);
      session.initialize();
      Array counts(i32, {s.batch});
      for (int b = 0; b < s.batch; ++b) counts.set_item(b, s.time - b % 3);
      const Feeds feeds{{x, exact_numbers({s.time, s.batch, s.features})}, {lengths, counts}};
      const std::vector<Array> a = run(session, all_of(fused), feeds), b = run(session, all_of(steps), feeds);
      for (std::size_t k = 0; k < a.size(); ++k) EXPECT_TRUE(equal(a[k], b[k])) << k;
    }
}

TEST_F(RnnTest, KernelsTakeWholeSequencesWhereTheyFit) {
  const auto count = [&](const char* type) {
    return std::ranges::count_if(graph.operations(), [&](const Operation& op) { return op.type() == type; });
  };
  const TrainTowerContext tower("");
  const Tensor x = placeholder(f32, {kRnnTime, 2, kFeatures});
  rnn(cell::stacked("fused", {cell::lstm("layer0", {.units = kFeatures}),
                              cell::residual(cell::dropout(cell::gru("layer1", {.units = kFeatures}),
                                                           {.input = 0.5, .output = 0.5, .variational = true}))}),
      x);
  EXPECT_EQ(count("LstmSequence"), 1);
  EXPECT_EQ(count("GruSequence"), 1);
  EXPECT_EQ(count("Dropout"), 2);
  rnn(cell::dropout(cell::lstm("dropped", {.units = 2}), {.state = 0.5}), x);
  EXPECT_EQ(count("LstmSequence"), 1 + kRnnTime) << "dropout inside of the recurrence";
  EXPECT_EQ(count("Scan"), 0);
  rnn(cell::plain("long", {.units = 2}), placeholder(f32, {65, 2, kFeatures}));
  EXPECT_EQ(count("Scan"), 1);
  rnn(cell::plain("short", {.units = 2}), placeholder(f32, {64, 2, kFeatures}));
  EXPECT_EQ(count("Scan"), 1);
}

TEST_F(RnnTest, BothDirectionsAreTwoNetworksOfWhichOneReadsBackwards) {
  const Tensor x = placeholder(f32, {2, kRnnTime, kFeatures}), lengths = constant(Array::of<std::int64_t>({2}, {4, 2}));
  const RnnCell there = cell::lstm("there", {.units = 2}), back = cell::gru("back", {.units = 3});
  const BidirectionalResult both = bidirectional(there, back, x, {.lengths = lengths, .batch_first = true});
  EXPECT_EQ(both.output.shape(), Shape({2, kRnnTime, 5}));
  EXPECT_EQ(both.last_forward.size(), 2u);
  EXPECT_EQ(both.last_backward.size(), 1u);
  const BidirectionalResult whole = bidirectional(there, back, transpose(x, {1, 0, 2}));
  const RnnResult forward = rnn(there, x, {.lengths = lengths, .batch_first = true});
  // The second row alone: two steps from the last to the first.
  const Tensor row = slice(x, {1, 0, 0}, {1, 2, kAny});
  const RnnResult backward = rnn(back, reverse(row, {1}), {.batch_first = true});
  Session session(graph);
  session.initialize();
  const std::vector<Array> out = run(
      session, {both.output, forward.output, backward.output, both.last_backward[0], backward.last[0], whole.output},
      {{x, numbers({2, kRnnTime, kFeatures})}});
  const auto at = [&](int b, int t, int i) { return out[0].item((b * kRnnTime + t) * 5 + i); };
  for (int t = 0; t < kRnnTime; ++t) {
    for (int i = 0; i < 5; ++i) EXPECT_EQ(at(0, t, i), out[5].item(t * 10 + i)) << "the first row is as long as all";
    for (int i = 0; i < 2; ++i) EXPECT_EQ(at(1, t, i), out[1].item((kRnnTime + t) * 2 + i));
    for (int i = 0; i < 3; ++i) EXPECT_NEAR(at(1, t, 2 + i), t < 2 ? out[2].item((1 - t) * 3 + i) : 0, 1e-6);
  }
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(out[3].item(3 + i), out[4].item(i), 1e-6);
}

TEST_F(RnnTest, ALengthOutsideOfTheSequenceEndsTheRun) {
  const Tensor x = placeholder(f32, {kRnnTime, 2, kFeatures}), lengths = placeholder(i32, {2});
  for (const CellForm& form : forms())
    for (const char* kind : {"plain", "lstm"}) {
      const std::string name = kind + std::to_string(graph.variables().size());
      const RnnCell cell =
          kind == std::string("lstm") ? cell::lstm(name, {.units = 2}) : cell::plain(name, {.units = 2});
      const RnnResult r = form.build(cell, x, {.lengths = lengths});
      Session session(graph);
      session.initialize();
      for (const int wrong : {5, -1})
        EXPECT_THROW(session.run(r.output, {{x, numbers({kRnnTime, 2, kFeatures})},
                                            {lengths, Array::of<std::int32_t>({2}, {1, wrong})}}),
                     NumericError)
            << name << ", " << form.name;
    }
}

// The first id of a sequence has to be remembered to its end, by a cell of one's own in a loop.
TEST_F(RnnTest, ACellOfOnesOwnLearnsInALoop) {
  constexpr std::int64_t kIds = 4, kRows = 16;
  const TrainTowerContext tower("");
  const Tensor ids = placeholder(i32, {kAny, kAny}), first = placeholder(i32, {kAny});
  const RnnCell cell("own", {.state = {16}, .output = 16}, [](const Tensor& x, const Tensors& state) {
    const Tensor gate = sigmoid(concat({x, state[0]}, 1) | fully_connected("gate", {.units = 16}));
    const Tensor h = gate * state[0] + (1.f - gate) * tanh(x | fully_connected("in", {.units = 16}));
    return RnnStep{.output = h, .state = {h}};
  });
  const RnnResult r = rnn(cell, ids | embedding("ids", {.rows = kIds, .width = 8}));
  const Tensor loss =
      reduce_mean(sparse_softmax_cross_entropy(fully_connected(r.last[0], "fc", {.units = kIds}), first));
  const Operation train = adam({.learning_rate = 0.05f})->minimize(loss);
  Session session(graph);
  session.initialize();
  Array sequences(i32, {5, kRows}), wanted(i32, {kRows});
  for (std::int64_t i = 0; i < sequences.elements(); ++i)
    sequences.set_item(i, static_cast<double>(i * i * 7 % 11 % 4));
  for (std::int64_t i = 0; i < kRows; ++i) wanted.set_item(i, sequences.item(i));
  const Feeds feeds{{ids, sequences}, {first, wanted}};
  const double before = session.run(loss, feeds).item();
  for (int step = 0; step < 60; ++step) session.run(train, feeds);
  EXPECT_LT(session.run(loss, feeds).item(), 0.1 * before);
}

}  // namespace
}  // namespace belfry
