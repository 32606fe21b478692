#include "belfry/ops/scan.h"

#include <set>

#include "belfry/graph/gradients.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/control_flow.h"
#include "belfry/ops/matmul.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/random.h"
#include "belfry/ops/reduce.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;

// h = tanh(x_t w + h u), with outputs h * x's mean; all that comes out, in one tensor: x, h0, w, u
Tensor plain_rnn(X x, const ScanOptions& options = {}) {
  const ScanResult r = scan(
      {x[1]}, {x[0]},
      [&](X state, X step) {
        const Tensor h = tanh(matmul(step[0], x[2]) + matmul(state[0], x[3]));
        return ScanStep{.state = {h}, .outputs = {h * reduce_mean(step[0])}};
      },
      options);
  return concat({r.outputs[0], expand_dims(r.last[0], 0)}, 0);
}

const std::vector<ShapeList> kScanShapes{{{3, 2, 3}, {2, 2}, {3, 2}, {2, 2}},
                                         {{1, 1, 1}, {1, 1}, {1, 1}, {1, 1}},
                                         {{0, 2, 3}, {2, 2}, {3, 2}, {2, 2}},
                                         {{2, 0, 3}, {0, 2}, {3, 2}, {2, 2}}};
const bool scan_rows[] = {
    gradient_row("Scan", {"Scan"}, [](X x) { return plain_rnn(x); }, {kScanShapes[0], kScanShapes[1], kScanShapes[2]}),
    gradient_row("ScanReverse", {"Scan"}, [](X x) { return plain_rnn(x, {.reverse = true}); }, {kScanShapes[0]}),
    // Two states of which one counts, two sequences of which one has integers.
    gradient_row("ScanMixedTypes", {"Scan"},
                 [](X x) {
                   const Tensor ids = constant(Array::of<std::int32_t>({3}, {2, 0, 1}));
                   const ScanResult r = scan({constant(0), x[0]}, {ids, x[1]}, [](X state, X step) {
                     const Tensor s = state[1] * cast(step[0] + state[0], step[1].dtype()) + square(step[1]);
                     return ScanStep{.state = {state[0] + 1, s}, .outputs = {step[0], s}};
                   });
                   return concat({r.outputs[1], expand_dims(r.last[1], 0)}, 0);
                 },
                 {{{2}, {3, 2}}}),
};

class ScanTest : public OpTest {};

TEST_F(ScanTest, OutputsAreStackedAndTheStateGoesOn) {
  const Tensor x = input(counting({4, 2}));
  const auto sums = [&](const ScanOptions& options) {
    return scan(
        {input(Array::full(f32, {2}, 1))}, {x},
        [](X state, X step) {
          const Tensor sum = state[0] + step[0];
          return ScanStep{.state = {sum}, .outputs = {sum}};
        },
        options);
  };
  const ScanResult forward = sums({}), backward = sums({.reverse = true});
  EXPECT_EQ(forward.outputs[0].shape(), Shape({4, 2}));
  EXPECT_EQ(floats(forward.outputs[0]), (std::vector<float>{1, 2, 3, 5, 7, 10, 13, 17}));
  EXPECT_EQ(floats(forward.last[0]), (std::vector<float>{13, 17}));
  EXPECT_EQ(floats(backward.outputs[0]), (std::vector<float>{13, 17, 13, 16, 11, 13, 7, 8}));
  EXPECT_EQ(floats(backward.last[0]), (std::vector<float>{13, 17}));
}

TEST_F(ScanTest, TheNumberOfStepsMayDifferFromRunToRun) {
  const Tensor x = placeholder(f32, {kAny, kAny}), start = placeholder(f32, {kAny});
  const ScanResult r =
      scan({start}, {x}, [](X state, X step) { return ScanStep{{state[0] * 2.f + step[0]}, {state[0]}}; });
  const Tensor dx = gradients({r.last[0]}, {x})[0];
  Session session(graph);
  for (const int time : {3, 0, 1, 5})
    for (const int batch : {1, 0, 2}) {
      const Feeds feeds{{x, Array::full(f32, {time, batch}, 1)}, {start, Array::full(f32, {batch}, 0)}};
      const std::vector<Array> out = session.run({r.last[0], r.outputs[0], dx}, feeds);
      EXPECT_EQ(out[1].shape(), Shape({time, batch}));
      for (int b = 0; b < batch; ++b) {
        EXPECT_EQ(out[0].item(b), (1 << time) - 1);
        for (int t = 0; t < time; ++t) EXPECT_EQ(out[2].item(t * batch + b), 1 << (time - 1 - t));
      }
    }
}

TEST_F(ScanTest, EveryStepDrawsItsOwnNumbersAndItsGradientTheSame) {
  const Tensor x = input(Array::full(f32, {2, 64}, 1));
  const ScanResult r = scan({}, {x}, [](X, X step) { return ScanStep{.outputs = {step[0] * random_uniform({64})}}; });
  const Tensor dx = gradients({r.outputs[0]}, {x})[0];
  Session session(graph);
  const auto out = session.run({r.outputs[0], dx}, {{x, Array::full(f32, {2, 64}, 1)}});
  EXPECT_TRUE(equal(out[0], out[1])) << "y = x r, so dy/dx = y where x = 1";
  std::set<float> drawn;
  for (float v : out[0].values<float>()) drawn.insert(v);
  EXPECT_GT(drawn.size(), 120u);
}

TEST_F(ScanTest, DrawsAnewInEveryRunAlsoOfConstants) {
  const Tensor drawn =
      scan({}, {zeros({3})}, [](X, X) { return ScanStep{.outputs = {random_uniform({4})}}; }).outputs[0];
  const Tensor branch =
      cond(constant(true), [] { return Tensors{random_uniform({4})}; }, [] { return Tensors{zeros({4})}; })[0];
  Session session(graph);
  for (const Tensor& t : {drawn, branch}) EXPECT_FALSE(equal(session.run(t), session.run(t)));
}

TEST_F(ScanTest, MayBeNestedAndHoldALoop) {
  const Tensor x = input(counting({2, 3})), scale = input(Array(2.f));
  const ScanResult outer = scan({input(Array(0.f))}, {x}, [&](X sum, X row) {
    const ScanResult inner = scan({sum[0]}, {row[0]}, [&](X s, X v) { return ScanStep{{s[0] + v[0] * scale}, {}}; });
    const Tensors end = while_loop(
        {constant(0), inner.last[0]}, [](X v) { return v[0] < 2; }, [](X v) { return Tensors{v[0] + 1, v[1] + 1.f}; });
    return ScanStep{{end[1]}, {inner.last[0]}};
  });
  EXPECT_EQ(floats(outer.outputs[0]), (std::vector<float>{6, 32}));
  EXPECT_EQ(floats(outer.last[0]), (std::vector<float>{34}));
  EXPECT_EQ(floats(gradients({outer.last[0]}, {scale})[0]), (std::vector<float>{15}));
}

TEST_F(ScanTest, MistakesSayWhatWasExpected) {
  const Tensor x = input(counting({2, 3}));
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const auto keep = [](X state, X) { return ScanStep{.state = state}; };
  has(error_of([&] { scan({x}, {}, keep); }), "[scan] expected one sequence or more, got none");
  has(error_of([&] { scan({Tensor()}, {x}, keep); }), "[scan] expected tensors as states and sequences, got an empty");
  has(error_of([&] { scan({x}, {input(Array(1.f))}, keep); }), "[scan] expected sequences [time, ...], got ");
  has(error_of([&] { scan({x}, {x}, [](X, X) { return ScanStep{}; }); }),
      "[scan] expected a body that gives 1 states, got 0");
  has(error_of([&] { scan({x}, {x}, [](X, X step) { return ScanStep{.state = step}; }); }),
      "[scan] expected a body that keeps the types and shapes of the state, got ");
  has(error_of([&] { scan({x}, {x, input(counting({4}))}, keep); }),
      "expected sequences of one length, got 2 and 4 steps");
}

TEST_F(ScanTest, StatesMayChangePlaces) {
  const ScanResult r =
      scan({input(counting({2})), input(Array::full(f32, {2}, 9))}, {input(Array::full(f32, {3, 2}, 1))},
           [](X s, X x) { return ScanStep{.state = {s[1], s[0]}, .outputs = {x[0]}}; });
  EXPECT_EQ(floats(r.last[0]), std::vector<float>(2, 9));
  EXPECT_EQ(floats(r.last[1]), (std::vector<float>{0, 1}));
}

}  // namespace
}  // namespace belfry
