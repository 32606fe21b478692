// Products in bf16, native where the machine has it and emulated, against the same ops in f64 on rounded factors.
#include <gtest/gtest.h>

#include <functional>

#include "belfry/engine/cpu/kernel/bf16_support.h"
#include "belfry/graph/gradients.h"
#include "belfry/graph/graph.h"
#include "belfry/graph/scope.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/control_flow.h"
#include "belfry/ops/conv.h"
#include "belfry/ops/conv_transpose.h"
#include "belfry/ops/gelu.h"
#include "belfry/ops/matmul.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "belfry/session/session.h"
#include "tests/engine/bf16_testing.h"
#include "tests/engine/poison_run.h"

namespace belfry {
namespace {

using Build = std::function<Tensor(const Tensor& a, const Tensor& b)>;

// y = build(a, b), and the gradients of sum(y * dy): three products of a, b and dy.
struct Products {
  Products(const Build& build, const std::vector<Array>& values) {
    const GraphScope scope(graph);
    for (const Array& value : values) feeds.emplace_back(placeholder(value.dtype(), value.shape()), value);
    const Tensor a = feeds[0].first, b = feeds[1].first, y = build(a, b);
    const Tensors g = gradients({y}, {a, b}, {.grad_ys = {feeds[2].first}});
    fetches = {y, g[0], g[1]};
  }
  std::vector<Array> run(Precision precision, int threads) {
    Session session(graph, {.devices = {{threads}}, .precision = precision});
    return session.run({fetches.begin(), fetches.end()}, feeds);
  }
  Graph graph;
  Feeds feeds;
  Tensors fetches;
};

std::vector<Array> products(const Build& build, const std::vector<Array>& values, Precision precision, int threads) {
  return Products(build, values).run(precision, threads);
}

double difference(const Array& a, const Array& b) {
  EXPECT_EQ(a.shape(), b.shape());
  const Array left = a.cast(f64), right = b.cast(f64);
  double out = 0;
  for (std::size_t i = 0; i < left.values<double>().size(); ++i) {
    const double d = std::fabs(left.values<double>()[i] - right.values<double>()[i]);
    if (std::isnan(d)) return std::numeric_limits<double>::infinity();
    out = std::max(out, d);
  }
  return out;
}
double largest_of(const Array& a) { return difference(a, Array::zeros(a.dtype(), a.shape())); }

struct Case {
  const char* name;
  Build build;
  Shape a, b, y;
};

class PrecisionTest : public testing::TestWithParam<Case> {};

TEST_P(PrecisionTest, ProductsAreThoseOfRoundedFactors) {
  const Case& c = GetParam();
  const std::vector<Array> values{noise(c.a, 1), noise(c.b, 2), noise(c.y, 3)};
  std::vector<Array> rounded, exact;
  for (const Array& value : values) {
    rounded.push_back(bf16_of(value).cast(f64));
    exact.push_back(value.cast(f64));
  }
  const std::vector<Array> expected = products(c.build, rounded, Precision::f32, 1),
                           unrounded = products(c.build, exact, Precision::f32, 1);
  for (const int threads : {1, 2})
    for (const Precision precision : {Precision::bf16, Precision::bf16_emulated}) {
      const std::vector<Array> got = products(c.build, values, precision, threads);
      for (std::size_t i = 0; i < 3; ++i) {
        const double tolerance = 2e-5 * largest_of(expected[i]);  // of sums in f32
        EXPECT_LT(difference(got[i], expected[i]), tolerance) << "result " << i << " on " << threads << " threads";
        EXPECT_GT(difference(unrounded[i], expected[i]), 5 * tolerance) << "a test that sees no rounding";
      }
      const std::vector<Array> again = products(c.build, values, precision, threads);
      for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(equal(got[i], again[i])) << "the same bits every time";
    }
}

// The same bits with NaN in all memory that a kernel is given: what tiles read beyond the end of things counts nowhere.
TEST_P(PrecisionTest, NothingDependsOnWhatWasNotWritten) {
  const Case& c = GetParam();
  const std::vector<Array> values{noise(c.a, 1), noise(c.b, 2), noise(c.y, 3)};
  Products net(c.build, values);
  Signature signature{.fetches = net.fetches, .targets = {}, .feeds = {}, .fed = {}};
  for (const auto& [tensor, value] : net.feeds) {
    signature.feeds.push_back(tensor);
    signature.fed.push_back({"", f32, value.shape()});
  }
  Ir ir = prune(signature, cpu_infos(1));
  infer_shapes(ir);
  simplify(ir);
  lower_precision(ir, Precision::bf16, {{1}});
  fuse(ir);
  VariableStore store;
  assign_layouts(ir, store, {{1}});
  const std::vector<Array> got = PoisonRun(ir, store, values).run(), wanted = net.run(Precision::bf16, 1);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(equal(got[i], wanted[i])) << "result " << i;
}

Build matmul_of(bool ta, bool tb) {
  return [=](const Tensor& a, const Tensor& b) { return matmul(a, b, {.transpose_a = ta, .transpose_b = tb}); };
}
Build conv_of(const Conv2dOptions& options) {
  return [=](const Tensor& a, const Tensor& b) { return conv2d(a, b, options); };
}
Build transposed_of(const Conv2dTransposeOptions& options) {
  return [=](const Tensor& a, const Tensor& b) { return conv2d_transpose(a, b, options); };
}

const Case kCases[] = {
    {"MatMul", matmul_of(false, false), {70, 90}, {90, 50}, {70, 50}},
    {"MatMulSmall", matmul_of(false, false), {3, 5}, {5, 2}, {3, 2}},
    {"MatMulOneRow", matmul_of(false, false), {1, 300}, {300, 33}, {1, 33}},
    {"MatMulThin", matmul_of(false, false), {32, 784}, {784, 128}, {32, 128}},
    {"MatMulDeep", matmul_of(false, false), {40, 2100}, {2100, 70}, {40, 70}},
    {"MatMulTransposedA", matmul_of(true, false), {90, 70}, {90, 50}, {70, 50}},
    {"MatMulTransposedB", matmul_of(false, true), {70, 90}, {50, 90}, {70, 50}},
    {"MatMulTransposedBoth", matmul_of(true, true), {90, 71}, {51, 90}, {71, 51}},
    {"MatMulRowsOfABatch", matmul_of(false, false), {4, 9, 40}, {40, 30}, {4, 9, 30}},
    {"Batched", matmul_of(false, false), {6, 33, 20}, {6, 20, 17}, {6, 33, 17}},
    {"BatchedTransposed", matmul_of(true, true), {2, 3, 20, 40}, {2, 3, 50, 20}, {2, 3, 40, 50}},
    {"BatchedBroadcast", matmul_of(false, true), {3, 1, 40, 64}, {1, 5, 32, 64}, {3, 5, 40, 32}},
    {"Conv3x3", conv_of({}), {2, 12, 12, 32}, {3, 3, 32, 48}, {2, 12, 12, 48}},
    {"Conv1x1", conv_of({}), {2, 9, 9, 40}, {1, 1, 40, 70}, {2, 9, 9, 70}},
    {"Conv1x1Strided", conv_of({.strides = 2}), {2, 9, 9, 40}, {1, 1, 40, 70}, {2, 5, 5, 70}},
    {"Conv7x7Strided", conv_of({.strides = 2}), {2, 21, 21, 3}, {7, 7, 3, 64}, {2, 11, 11, 64}},
    {"Conv3x3Strided", conv_of({.strides = 2}), {3, 14, 10, 33}, {3, 3, 33, 20}, {3, 7, 5, 20}},
    {"ConvUneven",
     conv_of({.strides = {2, 3}, .padding = Padding::valid}),
     {2, 11, 16, 20},
     {2, 5, 20, 24},
     {2, 5, 4, 24}},
    {"ConvWideWindow", conv_of({.dilations = {1, 9}}), {2, 5, 40, 16}, {1, 11, 16, 16}, {2, 5, 40, 16}},
    {"ConvInStrips", conv_of({}), {1, 70, 70, 96}, {2, 2, 96, 8}, {1, 70, 70, 8}},
    {"ConvImageByImage", conv_of({}), {3, 40, 40, 256}, {1, 1, 256, 8}, {3, 40, 40, 8}},
    {"ConvManyInputs", conv_of({}), {2, 6, 6, 192}, {3, 3, 192, 96}, {2, 6, 6, 96}},
    {"ConvManyOutputs", conv_of({.strides = 2}), {3, 7, 7, 96}, {3, 3, 96, 192}, {3, 4, 4, 192}},
    {"ConvPixelsSkipped",
     conv_of({.strides = 3, .padding = Padding::valid}),
     {2, 11, 9, 20},
     {2, 1, 20, 20},
     {2, 4, 3, 20}},
    {"ConvDilated", conv_of({.dilations = 2}), {2, 10, 10, 16}, {3, 3, 16, 16}, {2, 10, 10, 16}},
    {"ConvGrouped", conv_of({.groups = 2}), {2, 8, 8, 32}, {3, 3, 16, 32}, {2, 8, 8, 32}},
    {"ConvDepthwise", conv_of({.groups = 24}), {2, 8, 8, 24}, {3, 3, 1, 24}, {2, 8, 8, 24}},
    {"ConvOneChannel", conv_of({}), {2, 10, 10, 1}, {5, 5, 1, 32}, {2, 10, 10, 32}},
    {"ConvChannelsFirst", conv_of({.data_format = DataFormat::nchw}), {2, 20, 9, 9}, {3, 3, 20, 24}, {2, 24, 9, 9}},
    {"ConvTranspose", transposed_of({.strides = 2}), {2, 6, 6, 32}, {4, 4, 20, 32}, {2, 12, 12, 20}},
    {"ConvTransposeFewChannels", transposed_of({.strides = 2}), {2, 6, 6, 32}, {4, 4, 3, 32}, {2, 12, 12, 3}},
};
INSTANTIATE_TEST_SUITE_P(Ops, PrecisionTest, testing::ValuesIn(kCases),
                         [](const auto& p) { return std::string(p.param.name); });

class PrecisionPlanTest : public testing::Test {
 protected:
  Tensor input(const Shape& shape, std::uint64_t seed) {
    const Tensor made = placeholder(f32, shape);
    feeds.emplace_back(made, noise(shape, seed));
    return made;
  }
  std::vector<Array> run(const std::vector<Fetch>& fetches, Precision precision) {
    Session session(graph, {.precision = precision});
    return session.run(fetches, feeds);
  }
  std::string explain(const std::vector<Fetch>& fetches, Precision precision) {
    Session session(graph, {.precision = precision});
    return session.explain(fetches, feeds);
  }
  static bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  Graph graph;
  GraphScope scope{graph};
  Feeds feeds;
};

TEST_F(PrecisionPlanTest, WhatIsFusedIntoProductsStaysF32) {
  const Tensor x = input({64, 80}, 1), w = input({80, 48}, 2), b = input({48}, 3), v = input({48, 32}, 4);
  const Tensor h = gelu(matmul(x, w) + b), y = relu(matmul(h, v) + slice(b, {0}, {32}));
  const Tensors g = gradients(reduce_sum(square(y)), {x, w, b, v});
  const std::vector<Fetch> fetches{h, y, g[0], g[1], g[2], g[3]};
  const std::vector<Array> native = run(fetches, Precision::bf16), emulated = run(fetches, Precision::bf16_emulated),
                           full = run(fetches, Precision::f32);
  for (std::size_t i = 0; i < fetches.size(); ++i) {
    const double size = largest_of(full[i]);
    EXPECT_LT(difference(native[i], emulated[i]), 2e-3 * size) << i;  // a tie may fall to the other side
    EXPECT_LT(difference(native[i], full[i]), 3e-2 * size) << i;
    EXPECT_GT(difference(native[i], full[i]), 1e-5 * size) << i;
  }
}

TEST_F(PrecisionPlanTest, ABiasAndItsGradientAreNotRounded) {
  const Tensor x = placeholder(f32, {4, 6, 6, 16}), w = placeholder(f32, {3, 3, 16, 16}), b = input({16}, 3),
               dy = input({4, 6, 6, 16}, 4);
  feeds.emplace_back(x, Array::zeros(f32, {4, 6, 6, 16}));
  feeds.emplace_back(w, Array::zeros(f32, {3, 3, 16, 16}));
  const Tensor y = conv2d(x, w) + b;
  const Tensors g = gradients({y}, {b, w}, {.grad_ys = {dy}});
  const std::vector<Array> got = run({y, g[0], g[1]}, Precision::bf16);
  for (std::int64_t i = 0; i < 16; ++i) {
    EXPECT_EQ(got[0].item(i), feeds[0].second.item(i));
    double sum = 0;
    for (std::int64_t p = 0; p < 4 * 36; ++p) sum += feeds[1].second.item(p * 16 + i);
    EXPECT_NEAR(got[1].item(i), sum, 1e-4);
  }
}

TEST_F(PrecisionPlanTest, OtherTypesAndOpsAreUntouched) {
  const Tensor x = input({20, 30}, 1), y = cast(x, f64);
  const Tensor product = matmul(y, y, {.transpose_b = true}), others = reduce_sum(exp(x) * x);
  const std::vector<Array> full = run({product, others}, Precision::f32), low = run({product, others}, Precision::bf16);
  EXPECT_TRUE(equal(full[0], low[0]));
  EXPECT_TRUE(equal(full[1], low[1]));
  EXPECT_FALSE(contains(explain({product}, Precision::bf16), "RoundToBf16"));
}

TEST_F(PrecisionPlanTest, EmptyProductsStayAsTheyAre) {
  const Tensor x = input({0, 30}, 1), w = input({30, 4}, 2);
  EXPECT_EQ(run({matmul(x, w)}, Precision::bf16)[0].shape(), (Shape{0, 4}));
  EXPECT_EQ(run({matmul(x, x, {.transpose_a = true})}, Precision::bf16)[0].item(), 0);
}

TEST_F(PrecisionPlanTest, BranchesAndLoopsAreLoweredToo) {
  const Tensor x = input({16, 16}, 1);
  const Tensor y = cond(constant(Array(true)), [&] { return Tensors{matmul(x, x)}; }, [&] { return Tensors{x}; })[0];
  const Array inside = run({y}, Precision::bf16)[0], outside = run({matmul(x, x)}, Precision::bf16)[0],
              full = run({y}, Precision::f32)[0];
  EXPECT_TRUE(equal(inside, outside));
  EXPECT_FALSE(equal(inside, full));
}

TEST_F(PrecisionPlanTest, ExplainSaysWhatIsComputedInBf16AndHow) {
  const Tensor x = input({64, 80}, 1), w = input({80, 48}, 2);
  const Tensor y = exp(matmul(x, w, "product"));
  EXPECT_TRUE(contains(explain({y}, Precision::f32), "\nprecision f32\n"));
  const std::string emulated = explain({y}, Precision::bf16_emulated), native = explain({y}, Precision::bf16);
  EXPECT_TRUE(contains(emulated,
                       "precision bf16 (emulation was asked for): 1 instructions multiply in bf16, 1 of them "
                       "emulated, and sum in f32\n"))
      << emulated;
  EXPECT_TRUE(contains(emulated, "'product'  bf16 emulated")) << emulated;
  EXPECT_TRUE(contains(emulated, "RoundToBf16")) << emulated;
  EXPECT_TRUE(contains(native, "precision bf16 (" + bf16_support().reason + "): 1 ins")) << native;
  EXPECT_EQ(contains(native, "RoundToBf16"), !bf16_support().tiles) << native;
  EXPECT_TRUE(contains(native, bf16_support().tiles ? "'product'  bf16\n" : "'product'  bf16 emulated\n")) << native;
}

TEST_F(PrecisionPlanTest, AFactorOfSeveralProductsIsRoundedOnce) {
  const Tensor x = input({64, 80}, 1), w = input({80, 48}, 2), v = input({80, 32}, 3);
  const std::string plan = explain({matmul(x, w), matmul(x, v)}, Precision::bf16_emulated);
  std::size_t count = 0;
  for (std::size_t at = plan.find("RoundToBf16"); at != std::string::npos; at = plan.find("RoundToBf16", at + 1))
    ++count;
  EXPECT_EQ(count, 3) << plan;
}

}  // namespace
}  // namespace belfry
