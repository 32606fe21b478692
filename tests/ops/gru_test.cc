#include "belfry/ops/gru.h"

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

// All that comes out, in one tensor, so that every gradient is asked for: x, w_x, w_h, b, b_h, h0.
Tensor all_of(const GruResult& r) { return concat({reshape(r.h, {kAny, r.last.shape()[1]}), r.last * 2.f}, 0); }
GruResult gru_of(X x, const GruOptions& options = {}) { return gru(x[0], {x[1], x[2], x[3], x[4]}, x[5], options); }

constexpr CheckOptions kGruFirstOrder{.unknown_dimensions = false, .second_order = false};
const bool gru_rows[] = {
    gradient_row(
        "Gru", {"GruSequence", "GruSequenceGrad"}, [](X x) { return all_of(gru_of(x)); },
        {{{3, 2, 3}, {3, 6}, {2, 6}, {6}, {6}, {2, 2}},
         {{1, 1, 1}, {1, 3}, {1, 3}, {3}, {3}, {1, 1}},
         {{0, 2, 3}, {3, 6}, {2, 6}, {6}, {6}, {2, 2}},
         {{3, 0, 3}, {3, 6}, {2, 6}, {6}, {6}, {0, 2}}},
        kGruFirstOrder),
    gradient_row(
        "GruLengths", {"GruSequence", "GruSequenceGrad"},
        [](X x) { return all_of(gru_of(x, {.lengths = lengths_of({2, 0, 3})})); },
        {{{3, 3, 2}, {2, 6}, {2, 6}, {6}, {6}, {3, 2}}}, kGruFirstOrder),
    gradient_row(
        "GruOutputAlone", {"GruSequenceGrad"}, [](X x) { return gru(x[0], {x[1], x[2]}).h; },
        {{{3, 2, 3}, {3, 6}, {2, 6}}}, kGruFirstOrder),
    gradient_row(
        "GruCell", {"GruSequenceGrad"}, [](X x) { return gru_cell(x[0], {x[1], x[2], x[3]}, x[4]); },
        {{{2, 3}, {3, 6}, {2, 6}, {6}, {2, 2}}}, kGruFirstOrder),
};

class GruTest : public RecurrentTest {
 protected:
  struct Data {
    Array x, w_x, w_h, b, b_h, h0;
  };
  static Data data(std::int64_t time, std::int64_t batch, std::int64_t features, std::int64_t n) {
    return {random_array({time, batch, features}, 1),
            random_array({features, 3 * n}, 2),
            random_array({n, 3 * n}, 3),
            random_array({3 * n}, 4),
            random_array({3 * n}, 5),
            random_array({batch, n}, 6)};
  }
  GruResult build(const Data& d, const GruOptions& options = {}) {
    return gru(input(d.x), {input(d.w_x), input(d.w_h), input(d.b), input(d.b_h)}, input(d.h0), options);
  }

  struct Expected {
    std::vector<double> h, last;
  };
  // The definition, written out.
  static Expected naive(const Data& d, const std::vector<std::int64_t>& lengths = {}) {
    const std::int64_t time = d.x.shape()[0], batch = d.x.shape()[1], n = d.h0.shape()[1];
    const std::vector<double> x = doubles(d.x);
    Expected out{std::vector<double>(static_cast<std::size_t>(time * batch * n)), doubles(d.h0)};
    for (std::int64_t t = 0; t < time; ++t)
      for (std::int64_t row = 0; row < batch; ++row) {
        if (!lengths.empty() && t >= lengths[static_cast<std::size_t>(row)]) continue;
        const std::vector<double> before = out.last;
        const auto a = [&](std::int64_t j) { return step_sum(x, t * batch + row, d.w_x, j, d.b.item(j)); };
        const auto s = [&](std::int64_t j) { return step_sum(before, row, d.w_h, j, d.b_h.item(j)); };
        for (std::int64_t k = 0; k < n; ++k) {
          const auto at = static_cast<std::size_t>(row * n + k);
          const double r = sigmoid_of(a(k) + s(k)), z = sigmoid_of(a(n + k) + s(n + k)),
                       candidate = std::tanh(a(2 * n + k) + r * s(2 * n + k));
          out.last[at] = (1 - z) * candidate + z * before[at];
          out.h[static_cast<std::size_t>((t * batch + row) * n + k)] = out.last[at];
        }
      }
    return out;
  }
  void compare(const GruResult& result, const Data& d, const Expected& expected) {
    const double bound = sequence_bound(d.x, d.h0);
    expect_near(result.h, expected.h, bound, "h");
    expect_near(result.last, expected.last, bound, "last");
  }
};

TEST_F(GruTest, IsItsDefinition) {
  for (const std::int64_t batch : {1, 13, 25})
    for (const std::int64_t units : {1, 8, 19, 36}) {
      SCOPED_TRACE(fmt::format("batch {}, units {}", batch, units));
      const Data d = data(4, batch, 5, units);
      compare(build(d), d, naive(d));
    }
}

TEST_F(GruTest, RowsEndWhereTheirLengthsSay) {
  const Data d = data(5, 4, 3, 9);
  compare(build(d, {.lengths = lengths_of({5, 0, 2, 4})}), d, naive(d, {5, 0, 2, 4}));
}

TEST_F(GruTest, WithoutAStateItBeginsWithZerosAndWithoutBiasesAddsNone) {
  Data d = data(3, 2, 4, 5);
  d.h0 = Array::zeros(f32, {2, 5});
  d.b = d.b_h = Array::zeros(f32, {15});
  const Tensor x = placeholder(f32, {kAny, kAny, 4});
  const GruResult r = gru(x, {input(d.w_x), input(d.w_h)});
  EXPECT_EQ(r.h.shape(), Shape({kAny, kAny, 5}));
  const Expected expected = naive(d);
  const std::vector<float> got = floats(r.h, {{x, d.x}});
  ASSERT_EQ(got.size(), expected.h.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected.h[i], sequence_bound(d.x, d.h0));
}

TEST_F(GruTest, ACellIsOneStep) {
  const Data d = data(1, 3, 4, 5);
  const Tensor h =
      gru_cell(input(d.x.reshaped({3, 4})), {input(d.w_x), input(d.w_h), input(d.b), input(d.b_h)}, input(d.h0));
  compare({expand_dims(h, 0), h}, d, naive(d));
}

// /usr/bin/python3 -c 'import torch as t
// m = t.nn.GRU(2, 2); f = lambda *s: (t.arange(float(t.Size(s).numel())) % 7 / 10 - 0.3).view(*s)
// for k, v in m.named_parameters(): v.data = f(*v.shape)
// x = f(3, 1, 2).requires_grad_(); h = f(1, 1, 2) + 0.1
// y, hn = m(x, h); (y.sum() + 2 * hn.sum()).backward()
// print(y, x.grad, m.weight_hh_l0.grad.t(), m.bias_ih_l0.grad, m.bias_hh_l0.grad)'
TEST_F(GruTest, AgreesWithPyTorch) {
  // PyTorch's weights are [3 units, inputs].
  const Tensor x = input(pattern_array({3, 1, 2})), b = input(pattern_array({6})), b_h = input(pattern_array({6}));
  const Tensor w_x = transpose(input(pattern_array({6, 2}))), w_h = transpose(input(pattern_array({6, 2})));
  const GruResult r = gru(x, {w_x, w_h, b, b_h}, input(pattern_array({1, 2}, 0.1)));
  const Tensors g = gradients({reduce_sum(r.h) + reduce_sum(r.last) * 2.f}, {x, w_h, b, b_h});
  const auto near = [&](const Tensor& t, const std::vector<float>& wanted) { expect_near(t, wanted, 1e-5, "element"); };
  near(r.h, {0.0515349f, 0.0817584f, 0.1041694f, 0.1809828f, 0.0912453f, 0.2406380f});
  near(g[0], {-0.3019884f, 0.0167710f, -0.2988145f, 0.0160159f, -0.3514009f, 0.0092479f});
  near(g[1], {-0.0040928f, 0.0006800f, 0.0394108f, 0.0242793f, -0.0081650f, -0.0072183f, 0.0019291f, 0.0130696f,
              0.0190270f, -0.0058725f, 0.0855000f, 0.0945462f});
  near(g[2], {0.0809648f, 0.1818474f, -0.2375619f, -0.4062565f, 3.8204823f, 3.6591134f});
  near(g[3], {0.0809648f, 0.1818474f, -0.2375620f, -0.4062565f, 1.3559330f, 1.4760094f});
}

TEST_F(GruTest, MistakesAreNamed) {
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const Tensor x = placeholder(f32, {3, 2, 4}), w_x = placeholder(f32, {4, 6}), w_h = placeholder(f32, {2, 6});
  has(error_of([&] { gru(placeholder(f32, {3, 4}), {w_x, w_h}); }),
      "[gru] expected x of shape [time, batch, features] with known features, got 'Placeholder");
  has(error_of([&] { gru(x, {w_x, placeholder(f32, {2, 8})}); }), "expected w_h of shape [units, 3 units], got [2, 8]");
  has(error_of([&] { gru(x, {w_x, w_h, {}, placeholder(f32, {5})}); }), "expected b_h of shape [6], got [5]");
  has(error_of([&] { gru(x, {w_x, w_h}, placeholder(f32, {3, 2})); }), "expected h0 of shape [2, 2], got [3, 2]");
  has(error_of([&] { gru(x, {.w_h = w_h}); }), "[gru] expected weights w_x and w_h, got an empty tensor (at ");
  has(error_of([&] { gru_cell(x, {w_x, w_h}, {}); }),
      "[gru_cell] expected x of shape [batch, features], got 'Placeholder");
  const Tensor h = gru(x, {w_x, w_h}, {}, {.lengths = lengths_of({4, 1})}).h;
  const std::string text = error_of([&] {
    run(h, {{x, Array::zeros(f32, {3, 2, 4})}, {w_x, Array::zeros(f32, {4, 6})}, {w_h, Array::zeros(f32, {2, 6})}});
  });
  has(text, "expected lengths of 0 to 3 steps, got 4 in row 0 of 2. Check the data and how it was padded.");
  has(text, "gru_test.cc:");
  has(error_of([&] {
        const Tensor g = gradients({h}, {x})[0];
        gradients({g}, {x});
      }),
      "expected gradients of first order, got the gradient of a gradient of GruSequence");
}

}  // namespace
}  // namespace belfry
