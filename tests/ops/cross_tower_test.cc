// Sums across towers, here with all towers on one device.
#include "belfry/ops/internal/cross_tower.h"

#include "belfry/graph/gradients.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/batch_norm.h"
#include "belfry/ops/control_flow.h"
#include "belfry/ops/internal/sync_batch_norm.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "tests/ops/gradient_check.h"
#include "tests/ops/op_test.h"
#include "tests/support/errors.h"

namespace belfry {
namespace {

using X = const Tensors&;

CrossTowerGroup place(int tower, const char* name = "bn", int total = 2) {
  return {.layer = "batch_norm", .name = name, .tower = tower, .total = total};
}

Tensor sum_in(int tower, const Tensor& x, const char* name = "bn") { return cross_tower_sum(x, place(tower, name)); }

// A tensor whose gradient goes through both towers, as that of a weight does.
Tensor through_both(X x) {
  const Tensor first = sum_in(0, square(x[0])), second = sum_in(1, exp(x[0]));
  return first * x[0] + square(second);
}

// The first two rows in tower 0, the rest in tower 1.
Tensors halves(const Tensor& x) {
  Ints begin(static_cast<std::size_t>(x.rank()), 0), size(static_cast<std::size_t>(x.rank()), kAny);
  const Ints zero = begin;
  begin[0] = size[0] = 2;
  return {slice(x, zero, size), slice(x, begin, Ints(begin.size(), kAny))};
}

Tensor normalised(X x, int axis) {
  Tensors y;
  for (const Tensor& half : halves(x[0]))
    y.push_back(sync_batch_norm(half, x[1], x[2], {.epsilon = 0.1, .axis = axis}, place(static_cast<int>(y.size()))).y);
  return concat(y, 0);
}

// The cost may depend on the statistics themselves.
Tensor with_statistics(X x) {
  Tensor sum;
  for (int t : {0, 1}) {
    const SyncBatchNormResult r =
        sync_batch_norm(halves(x[0])[static_cast<std::size_t>(t)], x[1], x[2], {.epsilon = 0.1}, place(t));
    const Tensor cost =
        reduce_sum(square(r.y)) + reduce_sum(exp(r.mean)) * (1.f + t) + reduce_sum(square(r.variance) * r.count);
    sum = sum ? sum + cost : cost;
  }
  return sum;
}

const CheckOptions kLoose{.tolerance = 1e-5, .tolerance_f32 = 1e-3};
const std::vector<std::string> kCrossTowerOps{"CrossTowerSum", "BatchNormSums", "BatchNormGradSums", "BatchNormBlend"};
const std::vector<ShapeList> kCrossTowerShapes{{{5, 2, 3, 2}, {2}, {2}}, {{3, 3}, {3}, {3}}, {{2, 3}, {3}, {3}}};

const bool cross_tower_rows[] = {
    gradient_row("CrossTowerSum", {"CrossTowerSum"}, through_both, {{{3}}, {{2, 2}}, {{0}}}),
    gradient_row(
        "SyncBatchNorm", kCrossTowerOps, [](X x) { return normalised(x, -1); }, kCrossTowerShapes, kLoose),
    gradient_row(
        "SyncBatchNormChannelsFirst", kCrossTowerOps, [](X x) { return normalised(x, 1); }, {{{3, 2, 2, 2}, {2}, {2}}},
        kLoose),
    gradient_row("SyncBatchNormStatistics", kCrossTowerOps, with_statistics, {{{5, 2}, {2}, {2}}}, kLoose),
    gradient_row("BatchNormSums", {"BatchNormSums"},
                 [](X x) {
                   return cast(add_tensor(find_op("BatchNormSums"), {square(x[0])},
                                          {.attributes = {{"axis", std::int64_t{1}}}}),
                               x[0].dtype());
                 },
                 {{{3, 2}}, {{2, 2, 2}}, {{0, 2}}}),
};

class CrossTowerTest : public OpTest {};

TEST_F(CrossTowerTest, EveryTowerGetsTheSumOfAll) {
  Tensors sums;
  for (int t : {0, 1, 2}) {
    const Tensor x = constant(Array::of<float>({2}, {1.f * t, 10.f}));
    sums.push_back(cross_tower_sum(x, place(t, "here", 3)) + 1.f * t);
  }
  EXPECT_EQ(floats(sums[0]), (std::vector<float>{3, 30}));
  EXPECT_EQ(floats(sums[1]), (std::vector<float>{4, 31}));
  EXPECT_EQ(floats(sums[2]), (std::vector<float>{5, 32}));
}

TEST_F(CrossTowerTest, TheSameNameAgainMeetsTheSameUseInOtherTowers) {
  Tensors outer;
  for (int t : {0, 1}) {
    const Tensor once = sum_in(t, constant(1.f + t)), twice = sum_in(t, once * 10.f);
    outer.push_back(twice + once);
  }
  EXPECT_EQ(floats(outer[0]), std::vector<float>{63});
  EXPECT_EQ(floats(outer[1]), std::vector<float>{63});
}

TEST_F(CrossTowerTest, WhatOtherTowersNeedIsNeeded) {
  const Tensor a = placeholder(f32, {}), b = placeholder(f32, {});
  const Tensor sum = sum_in(0, a);
  sum_in(1, b);
  EXPECT_EQ(floats(sum, {{a, Array(1.f)}, {b, Array(2.f)}}), std::vector<float>{3});
  EXPECT_TRUE(contains(error_of([&] { floats(sum, {{a, Array(1.f)}}); }), "expected a value to be fed, got none"));
}

TEST_F(CrossTowerTest, NormalisesByTheStatisticsOfAllTowers) {
  const Array x = counting({7, 3}, f32), gamma = Array::of<float>({3}, {1, 2, 3}), beta = counting({3}, f32);
  const Tensors in{constant(x), constant(gamma), constant(beta)};
  const std::vector<float> y = floats(normalised(in, -1)),
                           wanted = floats(batch_norm(in[0], in[1], in[2], {.epsilon = 0.1}).y);
  ASSERT_EQ(y.size(), wanted.size());
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], wanted[i], 1e-5);
}

TEST_F(CrossTowerTest, LargeMeansLoseNoDigitsOfTheVariance) {
  for (const double mean : {1e3, 1e5}) {
    Array x(f32, {256, 1});
    for (std::int64_t i = 0; i < 256; ++i) x.set_item(i, mean + (i % 2 == 0 ? 1.0 : -1.0));
    const Tensor all = constant(x), one = constant(Array::of<float>({1}, {1}));
    const Tensors parts = halves(all);
    const SyncBatchNormResult r = sync_batch_norm(parts[0], one, one, {}, place(0));
    sync_batch_norm(parts[1], one, one, {}, place(1));
    EXPECT_NEAR(run(r.variance).item(0), 1, 1e-6);
    EXPECT_EQ(run(r.mean).item(0), mean);
    EXPECT_EQ(run(r.count).item(0), 256);
  }
}

TEST_F(CrossTowerTest, ATowerMayHaveAnEmptyBatch) {
  const Tensor x = placeholder(f32, {kAny, 1}), one = constant(Array::of<float>({1}, {1}));
  const SyncBatchNormResult empty = sync_batch_norm(x, one, one, {}, place(0));
  const SyncBatchNormResult full = sync_batch_norm(constant(Array::of<float>({2, 1}, {1, 3})), one, one, {}, place(1));
  const Feeds none{{x, Array(f32, {0, 1})}};
  EXPECT_EQ(floats(full.mean, none), std::vector<float>{2});
  EXPECT_EQ(floats(empty.variance, none), std::vector<float>{1});
  EXPECT_TRUE(floats(empty.y, none).empty());
}

TEST_F(CrossTowerTest, MissingTowersAreNamed) {
  const Tensor w = input(Array(1.f));
  const Tensor sum = sum_in(0, w * 1.f);
  EXPECT_TRUE(contains(error_of([&] { run(sum); }),
                       "[batch_norm 'bn'] expected its sum across towers in all 2 towers, got it in tower 0 of 2 "
                       "('CrossTowerSum') only (made at cross_tower_test.cc:"));
  const Tensor other = sum_in(1, w * 2.f);
  run(sum);
  const Tensor gradient = gradients({sum}, {w})[0];
  EXPECT_TRUE(contains(error_of([&] { run(gradient); }), "[batch_norm 'bn/gradient'] expected its sum across towers"));
  cross_tower_sum(w * 3.f, place(2, "bn", 3));
  EXPECT_TRUE(contains(error_of([&] { run(other); }), "tower 2 of 3"));
}

TEST_F(CrossTowerTest, TowersThatMeetInDifferentOrdersAreNamed) {
  const Tensor x = placeholder(f32, {});
  const Tensor first = sum_in(0, sum_in(0, x, "a"), "b");
  sum_in(1, sum_in(1, x, "b"), "a");
  EXPECT_TRUE(contains(error_of([&] { floats(first, {{x, Array(1.f)}}); }),
                       "expected the same order of sums across towers in every tower, got it "));
}

TEST_F(CrossTowerTest, BranchesAndLoopsRefuseIt) {
  const Tensor x = placeholder(f32, {});
  const auto inside = [&] { return Tensors{sum_in(0, x)}; };
  EXPECT_TRUE(contains(error_of([&] { cond(x > 0.f, inside, inside); }),
                       "[batch_norm 'bn'] expected to be outside cond() and while_loop()"));
  EXPECT_TRUE(contains(
      error_of([&] { while_loop({x}, [](X v) { return v[0] > 0.f; }, [](X v) { return Tensors{sum_in(0, v[0])}; }); }),
      "[batch_norm 'bn'] expected to be outside cond() and while_loop()"));
}

TEST_F(CrossTowerTest, ShapesMustAgree) {
  const Tensor a = placeholder(f32, {kAny}), b = placeholder(f32, {kAny});
  const Tensor sum = sum_in(0, a);
  sum_in(1, b);
  EXPECT_TRUE(contains(error_of([&] { floats(sum, {{a, Array(f32, {2})}, {b, Array(f32, {3})}}); }),
                       "expected one shape in all towers, got [2] in tower 0, [3] in 1"));
}

}  // namespace
}  // namespace belfry
