#include "belfry/ops/attention.h"

#include <cmath>

#include "belfry/graph/gradients.h"
#include "belfry/ops/heads.h"
#include "belfry/ops/pointwise.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;

Array mask_of(const Shape& shape, std::initializer_list<bool> values) { return Array::of<bool>(shape, values); }

const bool attention_rows[] = {
    gradient_row("Attention", {"Attention", "AttentionGrad"},
                 [](X x) { return attention(x[0], x[1], x[2], {.scale = 0.7}); },
                 {{{1, 2, 2, 2}, {1, 2, 3, 2}, {1, 2, 3, 1}}, {{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 2}}}),
    gradient_row("AttentionOfNothing", {"Attention"}, [](X x) { return attention(x[0], x[1], x[2], {.scale = 1}); },
                 {{{0, 1, 2, 2}, {0, 1, 2, 2}, {0, 1, 2, 2}},
                  {{1, 1, 0, 2}, {1, 1, 2, 2}, {1, 1, 2, 2}},
                  {{1, 1, 2, 2}, {1, 1, 0, 2}, {1, 1, 0, 2}}},
                 {.second_order = false}),
    gradient_row("CausalAttention", {"Attention", "AttentionGrad"},
                 [](X x) { return attention(x[0], x[1], x[2], {.causal = true, .scale = 1.3}); },
                 {{{1, 1, 3, 2}, {1, 1, 3, 2}, {1, 1, 3, 2}}}),
    gradient_row("AttentionWithHeadsInside", {"Attention", "AttentionGrad"},
                 [](X x) { return attention(x[0], x[1], x[2], {.causal = true, .scale = 0.5, .heads = 2}); },
                 {{{2, 2, 4}, {2, 2, 4}, {2, 2, 2}}}),
    gradient_row("MaskedAttention", {"Attention", "AttentionGrad"},
                 [](X x) {
                   const Tensor mask = constant(mask_of({1, 2, 3}, {true, false, true, false, true, true}));
                   return attention(x[0], x[1], x[2], {.mask = mask, .scale = 1});
                 },
                 {{{1, 2, 2, 2}, {1, 2, 3, 2}, {1, 2, 3, 2}}}),
    gradient_row("AttentionWithABias", {"Attention", "AttentionGrad"},
                 [](X x) { return attention(x[0], x[1], x[2], {.mask = x[3], .scale = 1}); },
                 {{{1, 2, 2, 2}, {1, 2, 3, 2}, {1, 2, 3, 2}, {2, 1, 3}}}),
    gradient_row("AttentionByParts", {"MatMul", "Softmax"},
                 [](X x) { return attention_by_parts(x[0], x[1], x[2], {.causal = true, .scale = 1, .heads = 1}); },
                 {{{1, 3, 2}, {1, 3, 2}, {1, 3, 2}}}),
};

class AttentionTest : public OpTest {
 protected:
  // Values in [-1, 1) that differ from tensor to tensor.
  Tensor random(const Shape& shape, DType dtype = f32) {
    RandomStream stream(mix_seed(5, ++made_));
    Array out(dtype, shape);
    for (std::int64_t i = 0; i < out.elements(); ++i) out.set_item(i, 2 * stream.uniform() - 1);
    return input(out);
  }
  void expect_same(const Tensor& got, const Tensor& wanted, double tolerance) {
    const Array a = run(got), b = run(wanted);
    ASSERT_EQ(a.shape(), b.shape());
    for (std::int64_t i = 0; i < a.elements(); ++i) ASSERT_NEAR(a.item(i), b.item(i), tolerance) << "element " << i;
  }

 private:
  std::uint64_t made_ = 0;
};

// softmax(q k' / 2) v and the gradient of its sum times 1, 2, 3, ... by definition, for one head.
TEST_F(AttentionTest, AgreesWithTheDefinition) {
  constexpr std::int64_t time = 5, depth = 4;
  const Tensor q = random({1, 1, time, depth}), k = random({1, 1, time, depth}), v = random({1, 1, time, depth});
  for (bool causal : {false, true}) {
    const Array y = run(attention(q, k, v, {.causal = causal})), a = run(q), b = run(k), c = run(v);
    for (std::int64_t i = 0; i < time; ++i) {
      std::vector<double> p;
      double sum = 0;
      for (std::int64_t j = 0; j < (causal ? i + 1 : time); ++j) {
        double score = 0;
        for (std::int64_t d = 0; d < depth; ++d) score += a.item(i * depth + d) * b.item(j * depth + d);
        p.push_back(std::exp(score / 2));
        sum += p.back();
      }
      for (std::int64_t d = 0; d < depth; ++d) {
        double wanted = 0;
        for (std::size_t j = 0; j < p.size(); ++j)
          wanted += p[j] / sum * c.item(static_cast<std::int64_t>(j) * depth + d);
        EXPECT_NEAR(y.item(i * depth + d), wanted, 1e-6);
      }
    }
  }
}

// Blocks of queries, panels of keys and vectors of depth, whole and partial.
TEST_F(AttentionTest, AgreesWithItsPartsForAllKindsOfSizes) {
  struct Size {
    std::int64_t queries, keys, depth, value_depth;
  };
  for (const Size& s : {Size{1, 1, 1, 1}, Size{32, 32, 32, 32}, Size{70, 70, 20, 40}, Size{33, 100, 8, 17},
                        Size{130, 130, 64, 64}, Size{100, 31, 48, 3}})
    for (bool causal : {false, true}) {
      if (causal && s.queries != s.keys) continue;
      SCOPED_TRACE(testing::Message() << s.queries << " " << s.keys << " " << s.depth << " " << s.value_depth);
      const Tensor q = random({2, 3, s.queries, s.depth}), k = random({2, 3, s.keys, s.depth}),
                   v = random({2, 3, s.keys, s.value_depth}), dy = random({2, 3, s.queries, s.value_depth});
      const AttentionOptions options{.causal = causal};
      const Tensor y = attention(q, k, v, options), parts = attention_by_parts(q, k, v, options);
      expect_same(y, parts, 2e-6);
      const Tensors got = gradients({y}, {q, k, v}, {.grad_ys = {dy}}),
                    wanted = gradients({parts}, {q, k, v}, {.grad_ys = {dy}});
      for (std::size_t i = 0; i < 3; ++i) expect_same(got[i], wanted[i], 2e-5);
    }
}

TEST_F(AttentionTest, MasksOfEveryFormAgreeWithItsParts) {
  const Tensor q = random({2, 3, 40, 8}), k = random({2, 3, 50, 8}), v = random({2, 3, 50, 8});
  const Tensor dy = random({2, 3, 40, 8});
  for (const Shape& shape :
       {Shape{2, 3, 40, 50}, Shape{2, 1, 1, 50}, Shape{40, 1}, Shape{3, 40, 50}, Shape{50}, Shape{}})
    for (bool adds : {false, true}) {
      SCOPED_TRACE(to_string(shape) + (adds ? " adds" : " allows"));
      const Tensor numbers = random(shape);
      const AttentionOptions options{.mask = adds ? numbers : greater(numbers, -0.6f)};
      const Tensor y = attention(q, k, v, options), parts = attention_by_parts(q, k, v, options);
      expect_same(y, parts, 2e-6);
      Tensors xs{q, k, v};
      if (adds) xs.push_back(numbers);
      const Tensors got = gradients({y}, xs, {.grad_ys = {dy}}), wanted = gradients({parts}, xs, {.grad_ys = {dy}});
      for (std::size_t i = 0; i < xs.size(); ++i) expect_same(got[i], wanted[i], 1e-4);
    }
}

TEST_F(AttentionTest, HeadsInsideTheLastAxisAreTheSameHeads) {
  const Tensor q = random({2, 37, 24}), k = random({2, 37, 24}), v = random({2, 37, 12}), dy = random({2, 37, 12});
  const AttentionOptions apart{.causal = true, .scale = 0.4};
  AttentionOptions inside = apart;
  inside.heads = 3;
  const Tensor y = attention(q, k, v, inside);
  const Tensor wanted = merge_heads(attention(split_heads(q, 3), split_heads(k, 3), split_heads(v, 3), apart));
  expect_same(y, wanted, 0);
  const Tensors a = gradients({y}, {q, k, v}, {.grad_ys = {dy}}), b = gradients({wanted}, {q, k, v}, {.grad_ys = {dy}});
  for (std::size_t i = 0; i < 3; ++i) expect_same(a[i], b[i], 0);
}

TEST_F(AttentionTest, AQueryThatMayAttendToNothingGetsZeroAndNoGradient) {
  for (const DType dtype : {f32, f64}) {
    const Tensor q = random({1, 1, 2, 4}, dtype), k = random({1, 1, 3, 4}, dtype), v = random({1, 1, 3, 4}, dtype);
    const Tensor mask = input(mask_of({2, 1}, {false, true}));
    const Tensor y = attention(q, k, v, {.mask = mask});
    const Array got = run(y), dq = run(gradients({y}, {q})[0]);
    for (std::int64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(got.item(i), 0);
      EXPECT_EQ(dq.item(i), 0);
      EXPECT_NE(got.item(4 + i), 0);
    }
  }
}

TEST_F(AttentionTest, LargeScoresDoNotOverflow) {
  const Tensor q = input(Array::full(f32, {1, 1, 1, 2}, 100)), k = input(Array::full(f32, {1, 1, 2, 2}, 100));
  const Tensor v = input(Array::of<float>({1, 1, 2, 2}, {1, 2, 3, 4}));
  EXPECT_EQ(floats(attention(q, k, v)), (std::vector<float>{2, 3}));
}

TEST_F(AttentionTest, BitsDoNotDependOnTheNumberOfThreads) {
  const Tensor q = random({3, 50, 12}), k = random({3, 50, 12}), v = random({3, 50, 12});
  const Tensor y = attention(q, k, v, {.causal = true, .heads = 2}), dk = gradients({y}, {k})[0];
  std::vector<Array> results;
  for (int threads : {1, 2, 3}) {
    Session session(graph, {.devices = {{threads}}});
    results.push_back(session.run(dk, Feeds{{q, run(q)}, {k, run(k)}, {v, run(v)}}));
    EXPECT_TRUE(equal(results.front(), results.back())) << threads;
  }
}

TEST_F(AttentionTest, ShapesKeepWhatIsKnown) {
  const Tensor x = placeholder(f32, {kAny, kAny, 12});
  EXPECT_EQ(attention(x, x, x, {.heads = 3}).shape(), Shape({kAny, kAny, 12}));
  const Tensor q = placeholder(f32, {kAny, 2, 5, 8}), v = placeholder(f32, {kAny, 2, 7, 4});
  EXPECT_EQ(attention(q, placeholder(f32, {kAny, 2, 7, 8}), v).shape(), Shape({kAny, 2, 5, 4}));
}

TEST_F(AttentionTest, MistakesAreNamed) {
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const Tensor q = placeholder(f32, {2, 3, 5, 8}), x = placeholder(f32, {2, 5, 8});
  has(error_of([&] { attention(q, x, x, {}, "att"); }),
      "[Attention 'att'] expected q, k and v of rank 4 ([batch, heads, time, depth]) or 3 ([batch, time, heads * "
      "depth]), got [2, 3, 5, 8], [2, 5, 8] and [2, 5, 8]");
  has(error_of([&] { attention(x, x, x, {.heads = 3}); }),
      "expected a last axis that divides into 3 heads, got [2, 5, 8]");
  has(error_of([&] { attention(x, x, x, {.heads = 0}); }), "expected .heads of 1 or more, got 0");
  has(error_of([&] { attention(q, q, q, {.heads = 2}); }),
      "expected .heads for inputs of rank 3 only, got 2 for [2, 3, 5, 8], whose axis 1 counts the heads");
  has(error_of([&] { attention(q, placeholder(f32, {2, 3, 5, 7}), q); }),
      "expected q, k and v that agree in batch and heads, q and k in depth, k and v in time, got [2, 3, 5, 8], [2, 3, "
      "5, 7] and [2, 3, 5, 8]");
  const Tensor longer = placeholder(f32, {2, 3, 6, 8});
  has(error_of([&] { attention(q, longer, longer, {.causal = true}); }),
      "expected as many queries as keys with .causal, got 5 and 6. Use .mask");
  has(error_of([&] { attention(q, q, placeholder(f64, {2, 3, 5, 8})); }),
      "expected q, k and v of one floating type, got f32 and f64. Use cast()");
  has(error_of([&] { attention(q, q, q, {.mask = placeholder(i32, {5, 5})}); }),
      "expected a mask of type bool or f32, got i32");
  has(error_of([&] { attention(q, q, q, {.mask = placeholder(boolean, {2, 5})}); }),
      "expected a mask that broadcasts to [batch, heads, queries, keys] = [2, 3, 5, 5], got [2, 5]");
  const Tensor unknown = placeholder(f32, {2, 3, 5, kAny}, "unknown");
  has(error_of([&] { attention(unknown, unknown, unknown); }),
      "[attention] expected a known depth, from which the scale follows, got 'unknown' [2, 3, 5, ?]");
}

}  // namespace
}  // namespace belfry
