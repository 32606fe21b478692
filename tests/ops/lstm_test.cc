#include "belfry/ops/lstm.h"

#include <fmt/core.h>

#include "belfry/graph/gradients.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/recurrent_test.h"

namespace belfry {
namespace {

using X = const Tensors&;

// All that comes out, in one tensor, so that every gradient is asked for: x, w_x, w_h, b, h0, c0.
Tensor all_of(const LstmResult& r) {
  const Tensor last = concat({r.last.h, r.last.c * 2.f}, 0);
  return concat({reshape(r.h, {kAny, r.last.h.shape()[1]}), last}, 0);
}
LstmResult lstm_of(X x, const LstmOptions& options = {}) {
  return lstm(x[0], {x[1], x[2], x[3]}, {x[4], x[5]}, options);
}
constexpr CheckOptions kLstmFirstOrder{.unknown_dimensions = false, .second_order = false};
const ShapeList kSmall{{3, 2, 3}, {3, 8}, {2, 8}, {8}, {2, 2}, {2, 2}};
const bool lstm_rows[] = {
    gradient_row(
        "Lstm", {"LstmSequence", "LstmSequenceGrad"}, [](X x) { return all_of(lstm_of(x)); },
        {kSmall,
         {{1, 1, 1}, {1, 4}, {1, 4}, {4}, {1, 1}, {1, 1}},
         {{0, 2, 3}, {3, 8}, {2, 8}, {8}, {2, 2}, {2, 2}},
         {{3, 0, 3}, {3, 8}, {2, 8}, {8}, {0, 2}, {0, 2}}},
        kLstmFirstOrder),
    gradient_row(
        "LstmLengths", {"LstmSequence", "LstmSequenceGrad"},
        [](X x) { return all_of(lstm_of(x, {.lengths = lengths_of({2, 0, 3})})); },
        {{{3, 3, 2}, {2, 8}, {2, 8}, {8}, {3, 2}, {3, 2}}}, kLstmFirstOrder),
    gradient_row(
        "LstmOutputAlone", {"LstmSequenceGrad"}, [](X x) { return lstm(x[0], {x[1], x[2]}).h; },
        {{{3, 2, 3}, {3, 8}, {2, 8}}}, kLstmFirstOrder),
    gradient_row(
        "LstmCell", {"LstmSequenceGrad"}, [](X x) { return lstm_cell(x[0], {x[1], x[2], x[3]}, {x[4], x[5]}).c; },
        {{{2, 3}, {3, 8}, {2, 8}, {8}, {2, 2}, {2, 2}}}, kLstmFirstOrder),
};

class LstmTest : public RecurrentTest {
 protected:
  struct Data {
    Array x, w_x, w_h, b, h0, c0;
  };
  static Data data(std::int64_t time, std::int64_t batch, std::int64_t features, std::int64_t n) {
    return {random_array({time, batch, features}, 1),
            random_array({features, 4 * n}, 2),
            random_array({n, 4 * n}, 3),
            random_array({4 * n}, 4),
            random_array({batch, n}, 5),
            random_array({batch, n}, 6)};
  }
  LstmResult build(const Data& d, const LstmOptions& options = {}) {
    return lstm(input(d.x), {input(d.w_x), input(d.w_h), input(d.b)}, {input(d.h0), input(d.c0)}, options);
  }

  struct Expected {
    std::vector<double> h, last_h, last_c;
  };
  // The definition, written out.
  static Expected naive(const Data& d, const std::vector<std::int64_t>& lengths = {}) {
    const std::int64_t time = d.x.shape()[0], batch = d.x.shape()[1], n = d.h0.shape()[1];
    const std::vector<double> x = doubles(d.x);
    Expected out{std::vector<double>(static_cast<std::size_t>(time * batch * n)), doubles(d.h0), doubles(d.c0)};
    for (std::int64_t t = 0; t < time; ++t)
      for (std::int64_t r = 0; r < batch; ++r) {
        if (!lengths.empty() && t >= lengths[static_cast<std::size_t>(r)]) continue;
        const std::vector<double> before = out.last_h;
        const auto a = [&](std::int64_t gate, std::int64_t k) {
          const std::int64_t j = gate * n + k;
          return step_sum(before, r, d.w_h, j, step_sum(x, t * batch + r, d.w_x, j, d.b.item(j)));
        };
        for (std::int64_t k = 0; k < n; ++k) {
          double &c = out.last_c[static_cast<std::size_t>(r * n + k)],
                 &h = out.last_h[static_cast<std::size_t>(r * n + k)];
          c = sigmoid_of(a(1, k)) * c + sigmoid_of(a(0, k)) * std::tanh(a(2, k));
          h = sigmoid_of(a(3, k)) * std::tanh(c);
          out.h[static_cast<std::size_t>((t * batch + r) * n + k)] = h;
        }
      }
    return out;
  }
  void compare(const LstmResult& result, const Data& d, const Expected& expected) {
    const double bound = sequence_bound(d.x, d.h0);
    expect_near(result.h, expected.h, bound, "h");
    expect_near(result.last.h, expected.last_h, bound, "last h");
    expect_near(result.last.c, expected.last_c, bound, "last c");
  }
};

// Sizes around those of vectors, panels and tiles of rows.
TEST_F(LstmTest, IsItsDefinition) {
  for (const std::int64_t batch : {1, 2, 7, 13, 25})
    for (const std::int64_t units : {1, 8, 19, 36}) {
      SCOPED_TRACE(fmt::format("batch {}, units {}", batch, units));
      const Data d = data(4, batch, 5, units);
      compare(build(d), d, naive(d));
    }
  const Data deep = data(2, 3, 5, 300);  // deeper than one slice of the product
  compare(build(deep), deep, naive(deep));
}

TEST_F(LstmTest, RowsEndWhereTheirLengthsSay) {
  const Data d = data(5, 4, 3, 9);
  const std::vector<std::int64_t> steps{5, 0, 2, 4};
  compare(build(d, {.lengths = lengths_of({5, 0, 2, 4})}), d, naive(d, steps));
  compare(build(d, {.lengths = constant(Array::of<std::int32_t>({4}, {5, 0, 2, 4}))}), d, naive(d, steps));
}

TEST_F(LstmTest, WithoutAStateItBeginsWithZerosAndWithoutABiasAddsNone) {
  Data d = data(3, 2, 4, 5);
  d.h0 = d.c0 = Array::zeros(f32, {2, 5});
  d.b = Array::zeros(f32, {20});
  const Tensor x = placeholder(f32, {kAny, kAny, 4});
  const LstmResult r = lstm(x, {input(d.w_x), input(d.w_h)});
  EXPECT_EQ(r.h.shape(), Shape({kAny, kAny, 5}));
  EXPECT_EQ(r.last.c.shape(), Shape({kAny, 5}));
  const Expected expected = naive(d);
  const std::vector<float> got = floats(r.h, {{x, d.x}});
  ASSERT_EQ(got.size(), expected.h.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected.h[i], sequence_bound(d.x, d.h0));
}

TEST_F(LstmTest, ACellIsOneStep) {
  const Data d = data(1, 3, 4, 5);
  const LstmState s =
      lstm_cell(input(d.x.reshaped({3, 4})), {input(d.w_x), input(d.w_h), input(d.b)}, {input(d.h0), input(d.c0)});
  compare({expand_dims(s.h, 0), s}, d, naive(d));
}

// /usr/bin/python3 -c 'import torch as t
// m = t.nn.LSTM(2, 2); f = lambda *s: (t.arange(float(t.Size(s).numel())) % 7 / 10 - 0.3).view(*s)
// for k, v in m.named_parameters(): v.data = f(*v.shape) if k != "bias_hh_l0" else v.data * 0
// x = f(3, 1, 2).requires_grad_(); h, c = f(1, 1, 2) + 0.1, f(1, 1, 2) + 0.2
// y, (hn, cn) = m(x, (h, c)); (y.sum() + 2 * cn.sum()).backward()
// print(y, cn, x.grad, m.weight_hh_l0.grad.t(), m.bias_ih_l0.grad)'
TEST_F(LstmTest, AgreesWithPyTorch) {
  // PyTorch's weights are [4 units, inputs].
  const Tensor x = input(pattern_array({3, 1, 2})), b = input(pattern_array({8}));
  const Tensor w_x = transpose(input(pattern_array({8, 2}))), w_h = transpose(input(pattern_array({8, 2})));
  const LstmResult r = lstm(x, {w_x, w_h, b}, {input(pattern_array({1, 2}, 0.1)), input(pattern_array({1, 2}, 0.2))});
  const Tensors g = gradients({reduce_sum(r.h) + reduce_sum(r.last.c) * 2.f}, {x, w_h, b});
  const auto near = [&](const Tensor& t, const std::vector<float>& wanted) { expect_near(t, wanted, 1e-5, "element"); };
  near(r.h, {0.0332724f, 0.0371177f, 0.0440014f, 0.0550428f, 0.0336438f, 0.0648796f});
  near(r.last.c, {0.0561354f, 0.1625257f});
  near(g[0], {-0.1469768f, -0.0213903f, -0.1622494f, -0.0190718f, -0.2112718f, -0.0254274f});
  near(g[1], {-1.1425918e-02f, -2.0404225e-03f, 9.3338434e-03f, 4.4250553e-03f, -4.3970138e-02f, -4.4477515e-02f,
              -1.5500125e-03f, -1.0797724e-03f, -3.8243541e-03f, 4.9297595e-03f, 6.8721548e-03f, 5.3962921e-03f,
              2.7490389e-02f, 2.5420494e-02f, -2.7424772e-05f, 1.3683180e-03f});
  near(g[2], {0.1457993f, 0.2622861f, 0.0459083f, 0.1080996f, 2.3465309f, 2.2643151f, 0.0414178f, 0.0884254f});
}

TEST_F(LstmTest, TheBitsDoNotDependOnTheNumberOfThreads) {
  const Data d = data(6, 20, 30, 50);
  const Tensor x = placeholder(f32, {6, 20, 30}), w_x = constant(d.w_x), w_h = constant(d.w_h);
  const LstmResult r = lstm(x, {w_x, w_h, constant(d.b)}, {}, {});
  const Tensor dw = gradients({reduce_sum(square(r.h))}, {w_h})[0].node()->inputs[1];  // dgates, before the product
  std::vector<std::vector<Array>> results;
  for (int threads : {1, 2, 3})
    results.push_back(Session(graph, {.devices = {{threads}}}).run(std::vector<Fetch>{r.last.h, dw}, Feeds{{x, d.x}}));
  for (std::size_t k : {1u, 2u})
    for (std::size_t i : {0u, 1u})
      for (std::int64_t j = 0; j < results[0][i].elements(); ++j)
        ASSERT_EQ(results[0][i].item(j), results[k][i].item(j)) << "output " << i << ", element " << j;
}

TEST_F(LstmTest, ALengthOutOfRangeNamesOpRowValueAndLineAndTheSessionGoesOn) {
  const Tensor x = placeholder(f32, {3, 2, 2}), steps = placeholder(i32, {2});
  const Tensor h =
      lstm(x, {constant(random_array({2, 8}, 1)), constant(random_array({2, 8}, 2))}, {}, {.lengths = steps}, "rnn").h;
  Session session(graph);
  const auto run_with = [&](std::int32_t n) {
    return session.run(h, {{x, Array::zeros(f32, {3, 2, 2})}, {steps, Array::of<std::int32_t>({2}, {1, n})}});
  };
  const std::string text = error_of([&] { run_with(4); });
  EXPECT_NE(text.find("[LstmSequence 'rnn/LstmSequence'] expected lengths of 0 to 3 steps, got 4 in row 1 of 2. Check "
                      "the data and how it was padded."),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("lstm_test.cc:"), std::string::npos) << text;
  EXPECT_NE(error_of([&] { run_with(-1); }).find("got -1 in row 1"), std::string::npos);
  EXPECT_EQ(run_with(3).shape(), Shape({3, 2, 2}));
}

TEST_F(LstmTest, MistakesAreNamed) {
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const Tensor x = placeholder(f32, {3, 2, 4}), w_x = placeholder(f32, {4, 8}), w_h = placeholder(f32, {2, 8});
  has(error_of([&] { lstm(placeholder(f32, {3, 4}), {w_x, w_h}); }),
      "[lstm] expected x of shape [time, batch, features] with known features, got 'Placeholder");
  has(error_of([&] { lstm(placeholder(f32, {3, 4}), {w_x, w_h}); }), "lstm_test.cc:");
  has(error_of([&] { lstm(placeholder(f32, {3, 4, kAny}), {w_x, w_h}); }), "with known features");
  has(error_of([&] { lstm(x, {placeholder(f32, {5, 8}), w_h}); }), "[MatMul 'lstm");
  has(error_of([&] { lstm(x, {w_x, placeholder(f32, {2, 6})}); }),
      "expected w_h of shape [units, 4 units], got [2, 6]");
  has(error_of([&] { lstm(x, {w_x, placeholder(f32, {3, 12})}); }), "expected gates of shape [6, 12], got [6, 8]");
  has(error_of([&] { lstm(x, {w_x, w_h}, {placeholder(f32, {3, 2}), placeholder(f32, {2, 2})}); }),
      "expected h0 of shape [2, 2], got [3, 2]");
  has(error_of([&] { lstm(x, {w_x, w_h}, {placeholder(f32, {2, 2}), placeholder(f64, {2, 2})}); }),
      "expected inputs of one floating type, got f32 and f64. Use cast()");
  has(error_of([&] { lstm(x, {w_x, w_h}, {.h = placeholder(f32, {2, 2})}); }),
      "[lstm] expected a state of h and c or neither, got only h (at ");
  has(error_of([&] { lstm(x, {.w_x = w_x}); }), "[lstm] expected weights w_x and w_h, got an empty tensor (at ");
  has(error_of([&] { lstm(x, {w_x, w_h}, {}, {.lengths = placeholder(i32, {3})}); }),
      "expected lengths of shape [2], got [3]");
  has(error_of([&] { lstm(x, {w_x, w_h}, {}, {.lengths = placeholder(f32, {2})}); }),
      "expected lengths of type i32 or i64, got f32. Use cast()");
  has(error_of([&] { lstm_cell(x, {w_x, w_h}, {}); }),
      "[lstm_cell] expected x of shape [batch, features], got 'Placeholder");
  has(error_of([&] {
        const Tensor g = gradients({lstm(x, {w_x, w_h}).h}, {x})[0];
        gradients({g}, {x});
      }),
      "expected gradients of first order, got the gradient of a gradient of LstmSequence");
}

}  // namespace
}  // namespace belfry
