#include <limits>

#include "belfry/ops/array_ops.h"
#include "belfry/ops/attention.h"
#include "belfry/ops/pointwise.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;

const bool cached_attention_rows[] = {
    gradient_row(
        "CachedAttention", {"CachedAttention"},
        [](X x) { return cached_attention(x[0], x[1], x[2], 1, {.scale = 0.7, .heads = 2}); },
        {{{2, 1, 4}, {2, 3, 4}, {2, 3, 2}}, {{1, 2, 2}, {1, 3, 2}, {1, 3, 4}}, {{0, 1, 4}, {0, 3, 4}, {0, 3, 2}}}),
    gradient_row("CachedAttentionWithABias", {"CachedAttention"},
                 [](X x) { return cached_attention(x[0], x[1], x[2], 1, {.mask = x[3], .scale = 1, .heads = 1}); },
                 {{{2, 2, 2}, {2, 4, 2}, {2, 4, 2}, {2, 1, 1, 4}}}),
};

class CachedAttentionTest : public OpTest {
 protected:
  Array random(const Shape& shape, DType dtype) {
    RandomStream stream(mix_seed(5, ++made_));
    Array out(dtype, shape);
    for (std::int64_t i = 0; i < out.elements(); ++i) out.set_item(i, 2 * stream.uniform() - 1);
    return out;
  }
  int made_ = 0;
};

// Every cut of a sequence into steps, for several batches in one session, in f32 and f64.
TEST_F(CachedAttentionTest, StepsGiveTheRowsOfTheWholeWindow) {
  constexpr std::int64_t kTime = 11, kHeads = 2, kDepth = 9;
  for (const DType dtype : {f32, f64}) {
    const auto sequence = [&] { return placeholder(dtype, {kAny, kAny, kHeads * kDepth}); };
    const Tensor q = sequence(), k = sequence(), v = sequence(), part = sequence(), at = placeholder(i32, {});
    const Tensor whole = attention(q, k, v, {.causal = true, .heads = kHeads}),
                 step = cached_attention(part, k, v, at, {.heads = kHeads});
    Session session(graph);
    for (const std::int64_t batch : {2, 1, 0, 3}) {
      const Shape shape{batch, kTime, kHeads * kDepth};
      const Array a = random(shape, dtype), b = random(shape, dtype), c = random(shape, dtype);
      const Array all = session.run(whole, {{q, a}, {k, b}, {v, c}});
      for (const std::int64_t n : {1, 4})
        for (std::int64_t first = 0; first + n <= kTime; ++first) {
          const Tensor box = slice(q, {0, first, 0}, {kAny, n, kAny}),
                       wanted = slice(whole, {0, first, 0}, {kAny, n, kAny});
          const Array rows = session.run(box, {{q, a}});
          const Array got =
              session.run(step, {{part, rows}, {k, b}, {v, c}, {at, Array(static_cast<std::int32_t>(first))}});
          const Array want = session.run(wanted, {{q, a}, {k, b}, {v, c}});
          ASSERT_EQ(got.shape(), want.shape());
          for (std::int64_t i = 0; i < got.elements(); ++i)
            ASSERT_NEAR(got.item(i), want.item(i), dtype == f32 ? 2e-6 : 1e-14) << n << " from " << first;
        }
    }
  }
}

TEST_F(CachedAttentionTest, WhatLiesBehindThePositionIsNotLookedAt) {
  const Array q = random({1, 1, 4}, f32), k = random({1, 5, 4}, f32), v = random({1, 5, 4}, f32);
  Array k_bad = k.clone(), v_bad = v.clone();
  for (std::int64_t i = 12; i < 20; ++i) {
    k_bad.set_item(i, std::numeric_limits<double>::quiet_NaN());
    v_bad.set_item(i, std::numeric_limits<double>::infinity());
  }
  const auto at_2 = [&](const Array& keys, const Array& values) {
    return floats(cached_attention(input(q), input(keys), input(values), 2, {.heads = 2}));
  };
  EXPECT_EQ(at_2(k_bad, v_bad), at_2(k, v));
}

TEST_F(CachedAttentionTest, AMaskHidesKeys) {
  const Array q = random({2, 2, 4}, f32), k = random({2, 4, 4}, f32), v = random({2, 4, 4}, f32);
  const Tensor mask = input(Array::of<bool>({2, 1, 1, 4}, {false, true, true, true, true, true, true, true}));
  const Tensor masked = cached_attention(input(q), input(k), input(v), 2, {.mask = mask, .heads = 2});
  const Tensor parts = attention_by_parts(
      input(q), input(k), input(v),
      {.mask = input(Array::of<bool>({2, 1, 2, 4}, {false, true, true, false, false, true, true, true, true, true, true,
                                                    false, true, true, true, true})),
       .heads = 2});
  const std::vector<float> got = floats(masked), wanted = floats(parts);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-6) << i;
}

TEST_F(CachedAttentionTest, APositionWithoutRoomEndsTheRun) {
  const Tensor q = input(random({1, 2, 4}, f32)), k = input(random({1, 5, 4}, f32)), at = placeholder(i64, {});
  const Tensor y = cached_attention(q, k, k, at, {}, "look");
  for (const std::int64_t place : {4, -1}) {
    const std::string text = error_of([&] { run(y, {{at, Array(place)}}); });
    EXPECT_TRUE(text.starts_with("[CachedAttention 'look'] expected a position in [0, 3], got " +
                                 std::to_string(place) +
                                 ": the cache has room for 5 positions, and the step adds 2 (made at"))
        << text;
  }
}

TEST_F(CachedAttentionTest, MistakesAreErrorsWhereTheyAreMade) {
  const Tensor q = input(random({1, 2, 4}, f32)), k = input(random({1, 5, 4}, f32));
  const auto error = [&](const Tensor& a, const Tensor& position) {
    return error_of([&] { cached_attention(a, k, k, position); });
  };
  EXPECT_NE(error(q, input(Array(0.f))).find("expected a position that is an i32 or i64 scalar, got f32 []"),
            std::string::npos);
  EXPECT_NE(error(input(random({1, 6, 4}, f32)), input(Array(0)))
                .find("expected no more queries than the cache has room for, got 6 and 5"),
            std::string::npos);
}

}  // namespace
}  // namespace belfry
