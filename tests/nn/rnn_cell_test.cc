#include "belfry/nn/rnn_cell.h"

#include <set>

#include "tests/nn/rnn_test_support.h"

namespace belfry {
namespace {

class RnnCellTest : public NnTest {
 protected:
  Tensor x = placeholder(f32, {kAny, kFeatures}, "x");

  static std::vector<Array> run(Session& session, const Tensors& fetches, const Feeds& feeds = {}) {
    return session.run(std::vector<Fetch>(fetches.begin(), fetches.end()), feeds);
  }
  static std::set<float> values(const Array& a) { return {a.values<float>().begin(), a.values<float>().end()}; }
};

TEST_F(RnnCellTest, VariablesAreNamedByTheCellsAndHaveTheGatesSideBySide) {
  const RnnCell net =
      cell::stacked("rnn", {cell::lstm("layer0", {.units = 5}), cell::residual(cell::gru("layer1", {.units = 5})),
                            cell::plain("top", {.units = 4, .use_bias = false})});
  EXPECT_EQ(net.name(), "rnn");
  EXPECT_EQ(net.state_sizes(), (Ints{5, 5, 5, 4}));
  EXPECT_EQ(net.output_size(), 4);
  const RnnStep s = net(x, net.zero_state(x));
  EXPECT_EQ(s.output.shape(), Shape({kAny, 4}));
  EXPECT_EQ(s.state[1].shape(), Shape({kAny, 5}));
  EXPECT_EQ(in(collection::kTrainableVariables),
            (Names{"rnn/layer0/W_x", "rnn/layer0/W_h", "rnn/layer0/b", "rnn/layer1/W_x", "rnn/layer1/W_h",
                   "rnn/layer1/b", "rnn/layer1/b_h", "rnn/top/W_x", "rnn/top/W_h"}));
  EXPECT_EQ(variable("rnn/layer0/W_x").shape(), Shape({3, 20}));
  EXPECT_EQ(variable("rnn/layer1/W_h").shape(), Shape({5, 15}));
  EXPECT_EQ(variable("rnn/top/W_x").shape(), Shape({5, 4}));
}

TEST_F(RnnCellTest, ACellThatIsCalledAgainFindsItsVariables) {
  for (const CellKind& kind : cells_without_dropout()) {
    SCOPED_TRACE(kind.name);
    const VariableScope own("kind" + std::to_string(graph.variables().size()));
    const RnnCell cell = kind.make(), copy = cell;
    RnnStep s = cell(x, cell.zero_state(x));
    const std::size_t made = graph.variables().size();
    s = copy(x, s.state);
    rnn(cell, placeholder(f32, {2, kAny, kFeatures}));
    rnn(cell, placeholder(f32, {kAny, kAny, kFeatures}));
    EXPECT_EQ(graph.variables().size(), made);
  }
}

TEST_F(RnnCellTest, AnotherCellOfTheSameNameIsAnErrorAndUnderReuseTheSameVariables) {
  const RnnCell a = cell::lstm("rnn", {.units = 2}), b = cell::lstm("rnn", {.units = 2});
  a(x, a.zero_state(x));
  for (int attempt = 0; attempt < 2; ++attempt) {
    const std::string text = error_of([&] { b(x, b.zero_state(x)); });
    EXPECT_TRUE(contains(text, "'rnn/W_x'") && contains(text, "exists")) << text;
  }
  const std::size_t made = graph.variables().size();
  {
    const auto reuse = VariableScope::reopen({.reuse = Reuse::yes});
    b(x, b.zero_state(x));
  }
  EXPECT_EQ(graph.variables().size(), made);
  const VariableScope elsewhere("elsewhere");
  b(x, b.zero_state(x));
  EXPECT_EQ(graph.variables().back().name(), "elsewhere/rnn/b");
}

TEST_F(RnnCellTest, OneCellMayBeUsedInSeveralGraphsAndTowers) {
  const RnnCell cell = stack_of_two();
  const auto use = [&](const Tensor& input) { rnn(cell, expand_dims(input, 0)); };
  {
    const TrainTowerContext tower("");
    use(x);
  }
  const std::size_t made = graph.variables().size();
  {
    const PredictTowerContext tower("predict");
    use(x);
  }
  EXPECT_EQ(graph.variables().size(), made);
  Graph other;
  const GraphScope scope(other);
  use(placeholder(f32, {2, kFeatures}));
  EXPECT_EQ(other.variables().size(), made);
}

TEST_F(RnnCellTest, WhatFailsLeavesNothingBehindAndCanBeRepeated) {
  bool fails = true;
  const RnnCell own("own", {.state = {2}, .output = 2}, [&](const Tensor& in, const Tensors& state) {
    const Tensor h = state[0] + (in | fully_connected("fc", {.units = 2}));
    if (fails) throw Error("no");
    return RnnStep{.output = h, .state = {h}};
  });
  EXPECT_EQ(error_of([&] { own(x, own.zero_state(x)); }), "no");
  EXPECT_EQ(error_of([&] { rnn(own, placeholder(f32, {kAny, 2, kFeatures})); }), "no");
  EXPECT_EQ(graph.variables().size(), 0u);
  fails = false;
  own(x, own.zero_state(x));
  EXPECT_EQ(in(collection::kTrainableVariables), (Names{"own/fc/W", "own/fc/b"}));
}

TEST_F(RnnCellTest, TheZeroStateHasAsManyRowsAsATensor) {
  const RnnCell cell = stack_of_two();
  const Tensor ids = placeholder(i32, {kAny});
  const Tensors zero = cell.zero_state(ids);
  Session session(graph);
  for (const int batch : {3, 0, 1}) {
    const std::vector<Array> out = run(session, zero, {{ids, Array(i32, {batch})}});
    ASSERT_EQ(out.size(), 3u);
    EXPECT_EQ(out[0].shape(), Shape({batch, 2}));
    EXPECT_EQ(out[2].shape(), Shape({batch, 3}));
  }
}

// A cell that passes its input on and counts in its state: what is dropped is what is missing.
class DropoutCellTest : public RnnCellTest {
 protected:
  static constexpr std::int64_t kRows = 5, kUnits = 200, kTime = 3;
  static RnnCell passes_on() {
    return RnnCell("pass", {.state = {kUnits}, .output = kUnits}, [](const Tensor& in, const Tensors& state) {
      return RnnStep{.output = in, .state = {state[0] + 1.f}};
    });
  }
  static double share_of_zeros(const Array& a) {
    const auto all = a.values<float>();
    return static_cast<double>(std::ranges::count(all, 0.f)) / static_cast<double>(all.size());
  }
  static std::span<const float> step_of(const Array& a, int t) {
    return a.values<float>().subspan(static_cast<std::size_t>(t * kRows * kUnits), kRows * kUnits);
  }

  Tensor ones_in = ones({kTime, kRows, kUnits});
};

TEST_F(DropoutCellTest, DropsInputsAndOutputsInTrainingOnly) {
  for (const DropoutCellOptions& options : {DropoutCellOptions{.input = 0.25}, DropoutCellOptions{.output = 0.25}})
    for (const CellForm& form : forms()) {
      SCOPED_TRACE(form.name);
      Tensor train, predict;
      {
        const TrainTowerContext tower("");
        train = form.build(cell::dropout(passes_on(), options), ones_in, {}).output;
      }
      {
        const PredictTowerContext tower("");
        predict = form.build(cell::dropout(passes_on(), options), ones_in, {}).output;
      }
      Session session(graph);
      const std::vector<Array> out = run(session, {train, predict});
      EXPECT_NEAR(share_of_zeros(out[0]), 0.25, 0.05);
      EXPECT_EQ(values(out[0]), (std::set<float>{0, 1 / 0.75f}));
      EXPECT_FALSE(std::ranges::equal(step_of(out[0], 0), step_of(out[0], 1))) << "each step drops others";
      EXPECT_EQ(values(out[1]), (std::set<float>{1}));
    }
}

TEST_F(DropoutCellTest, VariationalDropsTheSameUnitsAtAllStepsAndOthersInTheNextRun) {
  const TrainTowerContext tower("");
  for (const CellForm& form : forms()) {
    SCOPED_TRACE(form.name);
    const RnnResult r =
        form.build(cell::dropout(passes_on(), {.output = 0.5, .state = 0.5, .variational = true}), ones_in, {});
    Session session(graph);
    const Array first = session.run(r.output), second = session.run(r.output);
    EXPECT_NEAR(share_of_zeros(first), 0.5, 0.1);
    EXPECT_TRUE(std::ranges::equal(step_of(first, 0), step_of(first, 1)));
    EXPECT_TRUE(std::ranges::equal(step_of(first, 0), step_of(first, 2)));
    EXPECT_FALSE(equal(first, second));
    // s = 2 (s + 1) where it is kept, 0 where it is not: at all steps, or at none.
    EXPECT_EQ(values(session.run(r.last[0])), (std::set<float>{0, 14}));
  }
}

TEST_F(DropoutCellTest, DropsTheStateThatIsPassedOnAndNotWhatAnLstmRemembers) {
  const TrainTowerContext tower("");
  const Tensor in = ones({4, 3});
  const RnnCell lstm = cell::lstm("lstm", {.units = 100}),
                stack = cell::stacked("rnn", {lstm, cell::gru("gru", {.units = 100})});
  const RnnStep alone = cell::dropout(lstm, {.state = 0.5})(in, lstm.zero_state(in)),
                both = cell::dropout(stack, {.state = 0.5})(in, stack.zero_state(in));
  Session session(graph);
  session.initialize();
  const std::vector<Array> out = run(session, {alone.state[0], alone.state[1], alone.output, both.state[0],
                                               both.state[1], both.state[2], both.output});
  const bool dropped[] = {true, false, false, true, false, true, false};
  for (std::size_t i = 0; i < out.size(); ++i)
    EXPECT_NEAR(share_of_zeros(out[i]), dropped[i] ? 0.5 : 0, dropped[i] ? 0.15 : 0) << i;
}

TEST_F(DropoutCellTest, StepsByHandBeginASequence) {
  const TrainTowerContext tower("");
  const RnnCell cell = cell::stacked(
      "rnn", {cell::dropout(passes_on(), {.input = 0.5, .variational = true}), cell::plain("top", {.units = 2})});
  const Tensor in = ones({kRows, kUnits});
  const std::string text = error_of([&] { cell(in, cell.zero_state(in)); });
  EXPECT_TRUE(contains(text, "[dropout cell 'pass'] expected a sequence to begin before its first step")) << text;
  EXPECT_TRUE(contains(text, "Call the cell that .begin(x) returns")) << text;
  const RnnCell begun = cell.begin(in);
  const RnnStep a = begun(in, begun.zero_state(in)), b = begun(in, begun.zero_state(in));
  Session session(graph);
  session.initialize();
  const std::vector<Array> out = run(session, {a.output, b.output});
  EXPECT_TRUE(equal(out[0], out[1])) << "the same units are dropped";
  const RnnCell plain = cell::plain("plain", {.units = 2});
  EXPECT_EQ(&plain.begin(in).body(), &plain.body());
}

TEST_F(RnnCellTest, MistakesNameTheCellAndTheLine) {
  const auto has = [](const std::string& text, const std::string& part) { EXPECT_TRUE(contains(text, part)) << text; };
  const RnnCell lstm = cell::lstm("c", {.units = 2});
  const Tensors zero = lstm.zero_state(x);
  const std::size_t made = graph.operations().size();
  has(error_of([&] { lstm(x, {zero[0]}); }),
      "[cell 'c'] expected a state of 2 tensors ([batch, 2], [batch, 2]), got 1 (at ");
  has(error_of([&] { lstm(x, {zero[0]}); }), "rnn_cell_test.cc:");
  has(error_of([&] { lstm(x, {zero[0], x}); }), "[cell 'c'] expected f32 [?, 2] as number 1 of the state, got ");
  has(error_of([&] { lstm(x, {zero[0], Tensor()}); }), "as number 1 of the state, got an empty tensor");
  EXPECT_EQ(graph.operations().size(), made);
  has(error_of([&] { lstm(Tensor(), zero); }), "[cell 'c'] expected an input, got an empty tensor");
  has(error_of([&] { lstm(placeholder(f32, {2, kAny}, "wide"), zero); }),
      "[cell 'c'] expected an input [batch, features] of floats with known features, got ");
  has(error_of([&] { lstm(placeholder(i32, {2, 3}), zero); }), "of floats with known features, got ");
  has(error_of([&] { lstm(placeholder(f32, {4, 2, 3}), zero); }), "rnn() takes sequences.");

  has(error_of([&] { cell::lstm("", {.units = 2}); }), "[lstm cell] expected a name, got an empty one (at ");
  has(error_of([&] { cell::gru("c", {}); }), "[gru cell 'c'] expected .units above 0, got 0 (at ");
  has(error_of([&] { cell::plain("c", {.units = 2, .activation = {}}); }),
      "[plain cell 'c'] expected an .activation, got an empty one");
  has(error_of([&] { cell::stacked("c", {}); }), "[stacked cells 'c'] expected at least one cell, got none");
  has(error_of([&] { cell::dropout(lstm, {.output = 1}); }), "[dropout cell 'c'] expected .output in [0, 1), got 1");
  has(error_of([&] { cell::dropout(lstm, {.input = 0.5})(x, zero); }),
      "expected a tower, which says whether it trains");
  has(error_of([&] { cell::residual(lstm)(x, zero); }),
      "[residual cell 'c'] expected an input as wide as the output, to which it is added, got 3 features and 2 "
      "outputs");
  const auto nothing = [](const Tensor&, const Tensors&) { return RnnStep{}; };
  has(error_of([&] { RnnCell("own", {.state = {2}}, nothing); }), "[cell 'own'] expected .output above 0, got 0");
  has(error_of([&] { RnnCell("own", {.state = {0}, .output = 2}, nothing); }),
      "expected sizes above 0 in .state, got 0");
  has(error_of([&] { RnnCell("own", {.output = 2}, nullptr); }), "[cell 'own'] expected a function, got an empty one");
  has(error_of([&] { RnnCell("own", {.output = 2}, nothing)(x, {}); }),
      "[cell 'own'] expected its step to return an output [?, 2], got an empty tensor");
  const auto forgets = [](const Tensor& in, const Tensors&) { return RnnStep{.output = in}; };
  has(error_of([&] { RnnCell("own", {.state = {3}, .output = 3}, forgets)(x, {x}); }),
      "[cell 'own'] (its step's result) expected a state of 1 tensors ([batch, 3]), got 0");
}

TEST_F(RnnCellTest, MistakesInSequencesNameTheCellAndTheLine) {
  const auto has = [](const std::string& text, const std::string& part) { EXPECT_TRUE(contains(text, part)) << text; };
  const RnnCell cell = cell::gru("c", {.units = 2});
  const Tensor seq = placeholder(f32, {4, 2, 3}, "seq");
  has(error_of([&] { rnn(cell, Tensor()); }), "[rnn of cell 'c'] expected sequences, got an empty tensor (at ");
  has(error_of([&] { rnn(cell, x); }),
      "[rnn of cell 'c'] expected sequences [time, batch, features] of floats with known features, got ");
  has(error_of([&] { rnn(cell, x, {.batch_first = true}); }), "expected sequences [batch, time, features]");
  has(error_of([&] { unroll(cell, placeholder(f32, {4, 2, kAny})); }), "[unroll of cell 'c'] expected sequences ");
  has(error_of([&] { unroll(cell, placeholder(f32, {kAny, 2, 3})); }),
      "[unroll of cell 'c'] expected a known number of steps, got ");
  has(error_of([&] { rnn(cell, seq, {.initial = {placeholder(f32, {3, 2})}}); }),
      "[rnn of cell 'c'] expected f32 [2, 2] as number 0 of the state, got ");
  has(error_of([&] { rnn(cell, seq, {.initial = {placeholder(f64, {2, 2})}}); }), "expected f32 [2, 2] as number 0");
  has(error_of([&] { rnn(cell, seq, {.initial = {seq, seq}}); }), "expected a state of 1 tensors ([batch, 2]), got 2");
  has(error_of([&] { rnn(cell, seq, {.lengths = placeholder(f32, {2})}); }),
      "[rnn of cell 'c'] expected lengths of type i32 or i64 and shape [2], got ");
  has(error_of([&] { rnn(cell, seq, {.lengths = placeholder(i32, {4})}); }), "and shape [2], got ");
  has(error_of([&] { bidirectional(cell, cell::gru("d", {.units = 2}), x); }),
      "[bidirectional of cell 'c'] expected sequences [time, batch, features]");
  has(error_of([&] { bidirectional(cell, cell::gru("c", {.units = 2}), seq); }), "'c/W_x'");
  EXPECT_EQ(graph.variables().size(), 0u) << "what fails leaves nothing behind";
}

}  // namespace
}  // namespace belfry
