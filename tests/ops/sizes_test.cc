// Shapes that are known only in a run. Each form runs with several batch sizes in one session, 1 and 0 among them.
#include "belfry/ops/sizes.h"

#include <fmt/core.h>

#include <cmath>

#include "belfry/ops/array_ops.h"
#include "belfry/ops/broadcast.h"
#include "belfry/ops/control_flow.h"
#include "belfry/ops/gather.h"
#include "belfry/ops/generate.h"
#include "belfry/ops/internal/box_at.h"
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

const std::vector sizes_rows{
    gradient_row("ReshapeToSizes", {"ReshapeLike"}, [](X x) { return reshape(square(x[0]), {size_of(x[0], 1), kAny}); },
                 {{{2, 3}}, {{0, 3}}, {{4, 1}}}),
    gradient_row("BroadcastTo", {"BroadcastLike", "SumToLike"},
                 [](X x) { return broadcast_to(square(x[0]), {size_of(x[1], 0), 3}); },
                 {{{3}, {2, 1}}, {{1, 3}, {4, 2}}, {{3}, {0, 1}}}),
    gradient_row("TileBySizes", {"TileLike", "SumTilesLike"},
                 [](X x) { return tile(square(x[0]), {size_of(x[0], 0), 2}); }, {{{2, 3}}, {{1, 3}}, {{0, 3}}}),
    gradient_row("SliceAt", {"SliceAt", "PlaceAt"},
                 [](X x) { return slice(square(x[0]), {size_of(x[0], 0) - 1, 1}, {1, kAny}); }, {{{2, 3}}, {{1, 4}}}),
    gradient_row("SliceOfHalf", {"SliceAt", "PlaceAt"},
                 [](X x) {
                   const Tensor half = size_of(x[0], 0) / 2;
                   return slice(square(x[0]), stack({half, half * 0}), stack({size_of(x[0], 0) - half, half * 0 - 1}));
                 },
                 {{{5, 2}}, {{1, 2}}, {{0, 2}}}),
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

TEST_F(SizesTest, IntegersAreKnownThroughArithmeticReductionsAndPicks) {
  const Tensor image = placeholder(f32, {kAny, 7, 5, 3}), shape = shape_of(image);
  const Tensor behind = strided_slice(shape, {{.begin = 1}}), none = slice(shape, {1}, {0});
  const auto known = [](const Sizes& sizes) { return to_string(zeros(sizes).shape()); };
  EXPECT_EQ(to_string(reshape(image, {size_of(image, 0), reduce_prod(behind)}).shape()), "[?, 105]");
  EXPECT_EQ(known({reduce_sum(behind), reduce_max(behind), reduce_min(behind), reduce_prod(none)}), "[15, 7, 3, 1]");
  EXPECT_EQ(known({reduce_prod(shape), reduce_max(stop_gradient(behind), {.keep_dims = false})}), "[?, 7]");
  EXPECT_EQ(known(strided_slice(shape, {{.begin = -1, .end = 0, .step = -2}})), "[3, 7]");
  EXPECT_EQ(known(slice(shape, {1}, {kAny})), "[7, 5, 3]");
  EXPECT_EQ(known(gather(shape, constant(Array::of<std::int32_t>({3}, {3, 0, 1})))), "[3, ?, 7]");
  EXPECT_EQ(known({gather(shape, constant(std::int32_t{2})), size_of(image, 1) / 2}), "[5, 3]");
  EXPECT_EQ(known({floormod(size_of(image, 1), 4), floormod(size_of(image, 1) - 14, 4)}), "[3, 1]");
  EXPECT_EQ(known(stack({size_of(image, 2), size_of(image, 0)})), "[5, ?]");
  EXPECT_EQ(known({size_of(image, 1) / 0}), "[?]");
  EXPECT_EQ(known({unstack(shape)[1]}), "[?]");  // one op, several results: known in a run
}

// What is written of sizes in a graph, as TensorFlow's users write it, against numbers.
TEST_F(SizesTest, ArithmeticOnSizesIsThatOfNumbers) {
  const Tensor n = size_of(x, 0), sizes = shape_of(x);
  const Tensor parts = concat({strided_slice(sizes, {{.end = 1}}), stack({n + 1, minimum(n, 2)})}, 0);
  struct Form {
    Tensor y;
    Shape (*shape)(std::int64_t n);
  };
  const Form forms[] = {
      {zeros(parts), [](std::int64_t b) { return Shape{b, b + 1, std::min<std::int64_t>(b, 2)}; }},
      {zeros({reduce_prod(sizes)}), [](std::int64_t b) { return Shape{2 * b}; }},
      {zeros({n / 2, floormod(n, 2), maximum(n, 2)}),
       [](std::int64_t b) { return Shape{b / 2, b % 2, std::max<std::int64_t>(b, 2)}; }},
      {reshape(x, {-1, unstack(sizes)[1]}), [](std::int64_t b) { return Shape{b, 2}; }},
      {reshape(x, {n, -1}), [](std::int64_t b) { return Shape{b, 2}; }},
      {reshape(x, {1, n, 2, -1}), [](std::int64_t b) { return Shape{1, b, 2, 1}; }},
      {zeros({cast(ceil(cast(n, f32) * 0.5f), i32)}), [](std::int64_t b) { return Shape{(b + 1) / 2}; }},
      {zeros({gather(sizes, constant(std::int32_t{0})), 3}), [](std::int64_t b) { return Shape{b, 3}; }},
      {zeros({where(n > 1, n, constant(Array(std::int64_t{5})))}), [](std::int64_t b) { return Shape{b > 1 ? b : 5}; }},
      {strided_slice(x, {{.begin = -minimum(n, 2), .end = n}}),
       [](std::int64_t b) { return Shape{b == 0 ? 0 : std::min<std::int64_t>(b, 2), 2}; }},
      {slice(x, {0, 0}, sizes - constant(Array::of<std::int64_t>({2}, {0, 1}))),
       [](std::int64_t b) { return Shape{b, 1}; }},
      {expand_dims(reshape(range(0, n * 2), sizes), 0), [](std::int64_t b) { return Shape{1, b, 2}; }},
  };
  for (std::int64_t b : kBatches)
    for (const Form& form : forms)
      EXPECT_EQ(to_string(run_with(form.y, b).shape()), to_string(form.shape(b))) << form.y.name() << " of " << b;
}

// The gradients of every form, for every batch in one session, against those of fixed shapes.
TEST_F(SizesTest, GradientsFollowTheBatch) {
  using Form = Tensor (*)(const Tensor& x, const Size& n);
  const Form forms[] = {
      [](const Tensor& t, const Size& n) { return reshape(t, {2, n}); },
      [](const Tensor& t, const Size& n) { return reshape(t, {n, 1, 2}); },
      [](const Tensor& t, const Size& n) { return broadcast_to(reduce_sum(t), {n, 3}); },
      [](const Tensor& t, const Size& n) { return tile(t, {2, n}); },
      [](const Tensor& t, const Size& n) { return pad(t, {{n, 1}, {0, n}}, 3); },
      [](const Tensor& t, const Size& n) { return slice(t, {0, 1}, {n, 1}); },
      [](const Tensor& t, const Size& n) { return strided_slice(t, {{.end = n, .step = 2}}); },
      [](const Tensor& t, const Size& n) { return strided_slice(t, {{.begin = n, .step = -1}, {.begin = 1}}); },
      [](const Tensor& t, const Size& n) { return placeholder_with_default(t, {kAny, 2}) * ones({n, 1}); },
  };
  const auto gradient = [&](Form form, const Size& n) {
    const Tensor y = form(square(x), n);
    return gradients({reduce_sum(square(y) * 0.5f + y)}, {x})[0];
  };
  Tensors of_run;
  for (Form form : forms) of_run.push_back(gradient(form, size_of(x, 0)));
  for (std::int64_t b : kBatches)
    for (std::size_t i = 0; i < std::size(forms); ++i) {
      const Array got = run_with(of_run[i], b), wanted = run_with(gradient(forms[i], b), b);
      EXPECT_TRUE(equal(got, wanted)) << i << " with a batch of " << b << ": " << to_string(got) << ", not "
                                      << to_string(wanted);
    }
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
                            {1, b, 2},
                            {b, 2},
                            {2 * b, 2 * b},
                            {2 * b, 2},
                            {b - b / 2, 1},
                            {std::min<std::int64_t>(b, 2), 2},
                            {b, b}};
    for (std::size_t i = 0; i < std::size(forms); ++i)
      EXPECT_EQ(to_string(run_with(forms[i], b).shape()), to_string(shapes[i])) << i << " with a batch of " << b;
  }
}

TEST_F(SizesTest, BranchesAndLoopsMakeShapesOfTheTensorsInside) {
  const Tensor branch = cond(
      reduce_sum(x) > 3.f, [&] { return Tensors{fill({size_of(x, 0) * 2, 3}, 7)}; },
      [&] { return Tensors{reshape(tile(x, {3, 1}), {size_of(x, 0) * 2, kAny})}; })[0];
  const Tensor loop = while_loop(
      {constant(0), x}, [](X v) { return v[0] < 3; },
      [](X v) { return Tensors{v[0] + 1, v[1] + ones({size_of(v[1], 0), 1})}; })[1];
  for (std::int64_t b : {3, 1, 7, 3}) {
    const Array chosen = run_with(branch, b), sum = run_with(loop, b);
    ASSERT_EQ(to_string(chosen.shape()), to_string(Shape{2 * b, 3}));
    EXPECT_EQ(chosen.item(1), b > 1 ? 7 : 1);
    ASSERT_EQ(to_string(sum.shape()), to_string(Shape{b, 2}));
    EXPECT_EQ(sum.item(1), 4);
  }
  EXPECT_EQ(to_string(run_with(loop, 0).shape()), "[0, 2]");
}

// What a branch or a loop takes from outside as a size is a size inside too.
TEST_F(SizesTest, BranchesAndLoopsUseSizesFromOutside) {
  const Tensor n = size_of(x, 0), twice = n * 2, few = constant(Array(std::int64_t{3}));
  const auto nested = [&] {
    return cond(n > 0, [&] { return Tensors{zeros({twice, 3})}; }, [&] { return Tensors{fill({n + n, few}, 5)}; });
  };
  const Tensor branch = cond(reduce_sum(x) > 3.f, [&] { return Tensors{ones({twice, few})}; }, nested)[0];
  const Tensor loop = while_loop(
      {constant(0), tile(x, {2, 1})}, [&](X v) { return v[0] < cast(n, i32); },
      [&](X v) { return Tensors{v[0] + 1, v[1] + slice(v[1], {0, 0}, {twice, 1})}; })[1];
  const Tensor grad = gradients({reduce_sum(loop)}, {x})[0];
  for (std::int64_t b : kBatches) {
    const Array chosen = run_with(branch, b), back = run_with(grad, b);
    ASSERT_EQ(to_string(chosen.shape()), to_string(Shape{2 * b, 3}));
    EXPECT_EQ(to_string(run_with(loop, b).shape()), to_string(Shape{2 * b, 2}));
    ASSERT_EQ(to_string(back.shape()), to_string(Shape{b, 2}));
    if (b == 0) continue;
    EXPECT_EQ(chosen.item(0), b > 1);
    // Each pass doubles the first column and adds what it was to the second; there are two copies of each row.
    EXPECT_EQ(back.item(0), 2 * (std::exp2(b) + std::exp2(b) - 1));
    EXPECT_EQ(back.item(1), 2);
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
  for (std::int64_t n : {3, 1, 0, 5, 3}) {
    const Array got = session.run(twice, {{y, counting({n})}});
    ASSERT_EQ(got.elements(), n);
    for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(got.item(i), 2 * i);
  }
  EXPECT_EQ(session.run(twice).item(0), 2);
  EXPECT_NE(
      error_of([&] { session.run(twice, {{y, Array::of<float>({1, 1}, {5})}}); }).find("expected f32 [?] for 'y'"),
      std::string::npos);
  EXPECT_NE(
      error_of([&] { placeholder_with_default(x, {kAny, 3}); }).find("expected a default that fits [?, 3], got [?, 2]"),
      std::string::npos);
}

TEST_F(SizesTest, MistakesSayWhatIsWrong) {
  says([&] { random_normal(x.shape()); }, "Take what is unknown from a tensor: shape_of(x), or {size_of(x, 0), ...}");
  says([&] { zeros(x.shape()); }, "Take what is unknown from a tensor: shape_of(x), or {size_of(x, 0), ...}");
  says([&] { zeros(x); }, "[fill] expected a vector as sizes, got 'x' [?, 2]. List scalars in braces.");
  says([&] { zeros({x}); }, "[fill] expected sizes of type i32 or i64, got 'x' f32 [?, 2]. Use cast().");
  says([&] { zeros({shape_of(x)}); }, "expected scalars as sizes, got [2]. A vector of sizes is given without braces");
  says([&] { zeros({size_of(x, 1) - 3}); }, "expected sizes of 0 or more, got -1 for axis 0");
  says([&] { run_with(zeros({size_of(x, 0) - 3}), 2); }, "expected sizes of 0 or more, got -1 for axis 0");
  says([&] { run_with(reshape(x, {size_of(x, 0) + 1, 2}), 2); }, "expected 6 elements, got 4");
  says([&] { run_with(reshape(x, {size_of(x, 0) + 1, kAny}), 4); },
       "expected sizes of 0 or more, got -1 for axis 1. One may be kAny, where the others divide the elements");
  says([&] { pad(x, {{size_of(x, 0), 0}}); }, "[pad] expected a padding for each of the 2 dimensions of 'x'");
  says([&] { range(0, size_of(x, 0), 0); }, "[range] expected a delta other than 0, got 0");
}

TEST_F(SizesTest, ABoxAndItsSizesHaveAsManyNumbersAsTheTensorAxes) {
  const Tensor t = input(counting({4, 5})), one = placeholder(i64, {1}), some = placeholder(i64, {kAny});
  says([&] { slice(t, {0, 0}, one); }, "expected a size for each of the 2 dimensions of [4, 5], got i64 [1]");
  says([&] { slice(t, {0}, constant(Array::of<std::int64_t>({2}, {-1, -1}))); },
       "expected a begin for each of the 2 dimensions of [4, 5], got i64 [1]");
  const Tensor cut = slice(t, some, {kAny, kAny});
  EXPECT_EQ(run(cut, {{some, Array::of<std::int64_t>({2}, {3, 1})}}).shape(), Shape({1, 4}));
  says([&] { run(cut, {{some, Array::of<std::int64_t>({1}, {3})}}); },
       "expected a begin for each of the 2 dimensions of [4, 5], got i64 [1]");
}

TEST_F(SizesTest, ATileHasAMultipleForEachAxisAndRoomForTheCopies) {
  const Tensor n = placeholder(i64, {}), some = placeholder(i64, {kAny}), t = input(counting({2, 3}));
  EXPECT_NE(error_of([&] { tile(t, {n}); }).find("[tile] expected a multiple for each of the 2 dimensions of"),
            std::string::npos);
  const Tensor tiled = tile(t, some);
  EXPECT_EQ(run(tiled, {{some, Array::of<std::int64_t>({2}, {2, 1})}}).shape(), Shape({4, 3}));
  EXPECT_NE(error_of([&] { run(tiled, {{some, Array::of<std::int64_t>({1}, {2})}}); }), "");
  const Tensor deep = tile(input(counting({2, 2, 2, 2, 2})), {n, n, n, n, n});
  EXPECT_EQ(run(deep, {{n, Array(std::int64_t{1})}}).shape(), Shape({2, 2, 2, 2, 2}));
  const std::string error = error_of([&] { run(deep, {{n, Array(std::int64_t{2})}}); });
  EXPECT_NE(error.find("expected at most 8 dimensions, those that are repeated counted twice, got 10"),
            std::string::npos)
      << error;
}

TEST_F(SizesTest, ASizeFromOutsideServesAnOpOfItsOwnKindInside) {
  const Tensor twice = size_of(x, 0) * 2;
  const Tensor y = cond(reduce_sum(x) > 0.f, [&] { return Tensors{twice * 3}; }, [&] { return Tensors{twice}; })[0];
  EXPECT_EQ(run_with(y, 3).item(), 18);
  EXPECT_EQ(run_with(y, 0).item(), 0);
}

// Each is made once inside, however many ways lead to it: 2^60 of them would not end.
TEST_F(SizesTest, ManyWaysToASizeAreOne) {
  Tensor size = size_of(x, 0);
  for (int i = 0; i < 60; ++i) size = maximum(size, size - 1);
  const Tensor y =
      cond(reduce_sum(x) > 0.f, [&] { return Tensors{zeros({size})}; }, [&] { return Tensors{zeros({size})}; })[0];
  EXPECT_EQ(run_with(y, 3).shape(), Shape({3}));
}

}  // namespace
}  // namespace belfry
