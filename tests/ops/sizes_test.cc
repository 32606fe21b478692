// Shapes that are known only in a run. Each form runs with several batch sizes in one session, 1 and 0 among them.
#include "belfry/ops/sizes.h"

#include <fmt/core.h>

#include "belfry/ops/array_ops.h"
#include "belfry/ops/box_at.h"
#include "belfry/ops/broadcast.h"
#include "belfry/ops/generate.h"
#include "belfry/ops/matmul.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/random.h"
#include "belfry/ops/reduce.h"
#include "belfry/ops/strided_slice.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"

namespace belfry {
namespace {

using X = const Tensors&;

const std::vector rows{
    gradient_row("ReshapeToSizes", {"ReshapeLike"}, [](X x) { return reshape(square(x[0]), {size_of(x[0], 1), kAny}); },
                 {{{2, 3}}, {{0, 3}}, {{4, 1}}}),
    gradient_row("BroadcastTo", {"BroadcastLike", "SumToLike"},
                 [](X x) { return broadcast_to(square(x[0]), {size_of(x[1], 0), 3}); },
                 {{{3}, {2, 1}}, {{1, 3}, {4, 2}}, {{3}, {0, 1}}}),
    gradient_row("TileBySizes", {"TileLike", "SumTilesLike"},
                 [](X x) { return tile(square(x[0]), {size_of(x[0], 0), 2}); }, {{{2, 3}}, {{1, 3}}, {{0, 3}}}),
    gradient_row("SliceAt", {"SliceAt", "PlaceAt"},
                 [](X x) { return slice(square(x[0]), {size_of(x[0], 0) - 1, 1}, {1, kAny}); }, {{{2, 3}}, {{1, 4}}}),
    gradient_row("StridedSliceAt", {"SliceAt", "PlaceAt"},
                 [](X x) { return strided_slice(square(x[0]), {{.begin = size_of(x[0], 0) - 2, .step = -2}, {}}); },
                 {{{5, 3}}, {{2, 1}}}),
    gradient_row("PadBySizes", {"PlaceAt", "SliceAt"},
                 [](X x) { return pad(square(x[0]), {{size_of(x[0], 1), 1}, {0, 2}}, 3); }, {{{2, 3}}, {{0, 3}}}),
    gradient_row("PlaceholderWithDefault", {"PlaceholderWithDefault"},
                 [](X x) { return square(placeholder_with_default(square(x[0]), {kAny, 3})); }, {{{2, 3}}, {{0, 3}}}),
};

constexpr std::int64_t kBatches[] = {3, 1, 0, 7, 3};

class SizesTest : public OpTest {
 protected:
  Tensor x = placeholder(f32, {kAny, 2}, "x");
  Session session{graph};
  Array run_with(const Tensor& t, std::int64_t batch) { return session.run(t, {{x, counting({batch, 2})}}); }
};

TEST_F(SizesTest, ShapesThatFollowFromOthersAreKnownAsFarAsThoseAre) {
  EXPECT_EQ(to_string(random_normal(shape_of(x)).shape()), "[?, 2]");
  EXPECT_EQ(to_string(zeros({size_of(x, 0) * 2, size_of(x, 1) + 3}).shape()), "[?, 5]");
  EXPECT_EQ(to_string(fill({size_of(x, -1), floordiv(size_of(x, 1), 2)}, 1).shape()), "[2, 1]");
  EXPECT_EQ(to_string(reshape(x, {size_of(x, 0), 1, 2}).shape()), "[?, 1, 2]");
  EXPECT_EQ(to_string(broadcast_to(1.f, concat({shape_of(x), shape_of(x)}, 0)).shape()), "[?, 2, ?, 2]");
  EXPECT_EQ(to_string(tile(x, {size_of(x, 1), 3}).shape()), "[?, 6]");
  EXPECT_EQ(to_string(slice(x, {0, size_of(x, 1) - 1}, {kAny, kAny}).shape()), "[?, 1]");
  EXPECT_EQ(to_string(pad(x, {{0, 0}, {size_of(x, 1), 1}}).shape()), "[?, 5]");
  EXPECT_EQ(to_string(strided_slice(x, {{}, {.end = size_of(x, 1) - 1}}).shape()), "[?, 1]");
  EXPECT_EQ(to_string(one_hot(constant(Array::of<std::int32_t>({2}, {0, 1})), size_of(x, 1)).shape()), "[2, 2]");
  EXPECT_EQ(to_string(zeros(maximum(minimum(cast(shape_of(x), i32), 1), 1)).shape()), "[?, 1]");
}

TEST_F(SizesTest, EveryFormFollowsTheBatch) {
  const Tensor n = size_of(x, 0);
  const Tensor forms[] = {zeros({n, 4}),
                          ones(shape_of(x)),
                          fill({2, cast(n, i32)}, 3),
                          random_uniform({n}),
                          random_normal(shape_of(x)),
                          truncated_normal({n, 3}),
                          range(0, n),
                          reshape(x, {2, n}),
                          reshape(x, concat({constant(Array::of<std::int64_t>({1}, {kAny})), shape_of(x)}, 0)),
                          broadcast_to(5.f, {n, 2}),
                          tile(x, {2, n}),
                          pad(x, {{n, 0}, {0, 0}}),
                          slice(x, {floordiv(n, 2), 0}, {n - floordiv(n, 2), 1}),
                          strided_slice(x, {{.begin = n - 2}}),
                          one_hot(range(0, cast(n, i32)), n)};
  for (std::int64_t b : kBatches) {
    const Shape shapes[] = {{b, 4},
                            {b, 2},
                            {2, b},
                            {b},
                            {b, 2},
                            {b, 3},
                            {b},
                            {2, b},
                            {b == 0 ? 0 : 1, b, 2},
                            {b, 2},
                            {2 * b, 2 * b},
                            {2 * b, 2},
                            {b - b / 2, 1},
                            {std::min<std::int64_t>(b, 2), 2},
                            {b, b}};
    for (std::size_t i = 0; i < std::size(forms); ++i) {
      if (b == 0 && i == 8) continue;  // what is left over of nothing is not known
      EXPECT_EQ(to_string(run_with(forms[i], b).shape()), to_string(shapes[i])) << i << " with a batch of " << b;
    }
  }
}

TEST_F(SizesTest, ValuesAreThoseOfFixedShapes) {
  const Tensor n = size_of(x, 0);
  const auto same = [&](const Tensor& a, const Tensor& b) {
    const Array got = run_with(a, 3), expected = run_with(b, 3);
    EXPECT_EQ(to_string(got.shape()), to_string(expected.shape())) << a.name();
    for (std::int64_t i = 0; i < expected.elements(); ++i) EXPECT_EQ(got.item(i), expected.item(i)) << a.name();
  };
  same(fill({n, 2}, 7), fill({3, 2}, 7));
  same(range(1, n + 4, 2), range({.start = 1, .limit = 7, .delta = 2, .dtype = i64}));
  same(range(cast(n, f32), 0.f, -0.5f), range({.start = 3, .limit = 0, .delta = -0.5, .dtype = f32}));
  same(range(n, -2, -2), range({.start = 3, .limit = -2, .delta = -2, .dtype = i64}));
  same(reshape(x, {n - 1, kAny}), reshape(x, {2, 3}));
  same(broadcast_to(slice(x, {0, 0}, {1, kAny}), {n, 2}), tile(slice(x, {0, 0}, {1, 2}), {3, 1}));
  same(tile(x, {1, n}), tile(x, {1, 3}));
  same(pad(x, {{n, 1}, {0, n - 1}}, 9), pad(x, {{3, 1}, {0, 2}}, 9));
  same(slice(x, {n - 2, 1}, {kAny, 1}), slice(x, {1, 1}, {2, 1}));
  same(slice(x, shape_of(x) - 1, {1, 1}), slice(x, {2, 1}, {1, 1}));
  same(strided_slice(x, {{.begin = n, .end = -n, .step = -2}, {.begin = 1}}),
       strided_slice(x, {{.begin = 3, .end = -3, .step = -2}, {.begin = 1}}));
  same(one_hot(constant(Array::of<std::int32_t>({2}, {2, 5})), n),
       one_hot(constant(Array::of<std::int32_t>({2}, {2, 5})), 3));
}

TEST_F(SizesTest, DrawsAreThoseOfAFixedShapeAndDoNotDependOnTheBatch) {
  const Tensor z = random_normal({size_of(x, 0), 5}, {.seed = 3}), fixed = random_normal({7, 5}, {.seed = 3});
  const auto draw = [&](const Tensor& t, std::int64_t batch) {
    return session.run(t, {{x, counting({batch, 2})}}, {.random_step = 4});
  };
  const Array whole = draw(fixed, 7);
  for (std::int64_t batch : {1, 4, 7}) {
    const Array some = draw(z, batch);
    for (std::int64_t i = 0; i < some.elements(); ++i) EXPECT_EQ(some.item(i), whole.item(i)) << batch << " " << i;
  }
}

TEST_F(SizesTest, WhatFollowsFromShapesIsNotRun) {
  const Tensor n = size_of(x, 0);
  const Tensor y = reshape(x, {floordiv(n * 2, 2), kAny}) + random_normal({maximum(n, 0), 2});
  const std::string plan = session.explain({y}, {{x, counting({3, 2})}});
  for (const char* op : {"SizeOf", "PackSizes", "OfShape", "CompleteSizes", "FloorDiv", "Maximum", "Mul "})
    EXPECT_EQ(plan.find(op), std::string::npos) << op << " in\n" << plan;
}

TEST_F(SizesTest, ABeginThatARunComputesMovesWithoutANewPlan) {
  const Tensor at = placeholder(i32, {}, "at");
  const Tensor y = slice(x, {at, 0}, {1, 2});
  EXPECT_EQ(to_string(y.shape()), "[1, 2]");
  const Array values = counting({4, 2});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(session.run(y, {{x, values}, {at, Array(i)}}).item(0), 2 * i);
  EXPECT_EQ(session.cached_plans(), 1);
  for (int outside : {-1, 4}) {
    const std::string text = error_of<NumericError>([&] { session.run(y, {{x, values}, {at, Array(outside)}}); });
    EXPECT_NE(text.find(fmt::format("expected a box inside [4, 2], got size 1 from {} on along axis 0", outside)),
              std::string::npos)
        << text;
  }
}

TEST_F(SizesTest, APlaceholderWithADefaultMayBeFed) {
  const Tensor y = placeholder_with_default(constant(Array::of<float>({2}, {1, 2})), {kAny}, "y");
  const Tensor twice = y * 2.f;
  EXPECT_EQ(to_string(twice.shape()), "[?]");
  EXPECT_EQ(session.run(twice).item(1), 4);
  EXPECT_EQ(session.run(twice, {{y, Array::of<float>({3}, {5, 6, 7})}}).item(2), 14);
  EXPECT_EQ(session.run(twice).item(0), 2);
  EXPECT_NE(
      error_of([&] { session.run(twice, {{y, Array::of<float>({1, 1}, {5})}}); }).find("expected f32 [?] for 'y'"),
      std::string::npos);
  EXPECT_NE(
      error_of([&] { placeholder_with_default(x, {kAny, 3}); }).find("expected a default that fits [?, 3], got [?, 2]"),
      std::string::npos);
}

TEST_F(SizesTest, MistakesSayWhatIsWrong) {
  const auto says = [](const auto& action, const char* text) {
    const std::string error = error_of(action);
    EXPECT_NE(error.find(text), std::string::npos) << error;
  };
  says([&] { random_normal(x.shape()); }, "Take what is unknown from a tensor: shape_of(x), or {size_of(x, 0), ...}");
  says([&] { zeros(x.shape()); }, "Take what is unknown from a tensor: shape_of(x), or {size_of(x, 0), ...}");
  says([&] { zeros(x); }, "[fill] expected a vector as sizes, got 'x' [?, 2]. Put scalars side by side in braces.");
  says([&] { zeros({x}); }, "[fill] expected sizes of type i32 or i64, got 'x' f32 [?, 2]. Use cast().");
  says([&] { zeros({shape_of(x)}); }, "expected scalars as sizes, got [2]");
  says([&] { zeros({size_of(x, 1) - 3}); }, "expected sizes of 0 or more, got -1 for axis 0");
  says([&] { run_with(zeros({size_of(x, 0) - 3}), 2); }, "expected sizes of 0 or more, got -1 for axis 0");
  says([&] { run_with(reshape(x, {size_of(x, 0) + 1, 2}), 2); }, "expected 6 elements, got 4");
  says([&] { run_with(reshape(x, {size_of(x, 0) + 1, kAny}), 4); }, "expected sizes of 0 or more, got -1 for axis 1");
}

}  // namespace
}  // namespace belfry
