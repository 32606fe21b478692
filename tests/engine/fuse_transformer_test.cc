// What a transformer block's ops become: packed attention, gelu inside its products, layer norm with residuals.
#include <cmath>

#include "belfry/engine/cpu/fuse/fusion.h"
#include "belfry/graph/gradients.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/attention.h"
#include "belfry/ops/gelu.h"
#include "belfry/ops/layer_norm.h"
#include "belfry/ops/matmul.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "belfry/session/session.h"
#include "tests/engine/ir_testing.h"

namespace belfry {
namespace {

class FuseTransformerTest : public IrTest {
 protected:
  Ir fused(const Request& request) const {
    Ir ir = simplified(request);
    fuse(ir);
    topological(ir);
    return ir;
  }

  // A variable with distinct values.
  Variable numbers(const char* name, const Shape& shape) {
    const double seed = static_cast<double>(++made_);
    return get_variable(name, {.shape = shape, .initializer = [seed](const Shape& s, DType d) {
                                 Array value(d, s);
                                 for (std::int64_t i = 0; i < value.elements(); ++i)
                                   value.set_item(i, std::sin(seed + 0.37 * static_cast<double>(i)));
                                 return constant(value);
                               }});
  }

  // Fetching more changes no bits of what was fetched before.
  void expect_same_bits(const Tensors& asked, const Tensors& more) {
    Session session(graph);
    session.initialize();
    const std::vector<Fetch> few(asked.begin(), asked.end());
    std::vector<Fetch> all = few;
    all.insert(all.end(), more.begin(), more.end());
    const std::vector<Array> a = session.run(few), b = session.run(all);
    for (std::size_t i = 0; i < asked.size(); ++i) EXPECT_TRUE(equal(a[i], b[i])) << asked[i].name();
  }
  // Of f32 inside the fused op, against f64 made of simple ones.
  void expect_near(const Tensor& got, const Tensor& wanted, double tolerance) {
    Session session(graph);
    session.initialize();
    const Array a = session.run(got), b = session.run(wanted);
    ASSERT_EQ(a.shape(), b.shape());
    for (std::int64_t i = 0; i < a.elements(); ++i) ASSERT_NEAR(a.item(i), b.item(i), tolerance) << "element " << i;
  }

 private:
  int made_ = 0;
};

TEST_F(FuseTransformerTest, AttentionReadsAndWritesOneProjection) {
  const Tensor qkv = tanh(numbers("qkv", {2, 5, 12}));
  const Tensors parts = split(qkv, 3, 2);
  const Tensor y = attention(parts[0], parts[1], parts[2], {.causal = true, .heads = 2});
  const Tensor g = gradients({y}, {qkv})[0];
  const Ir ir = fused({.fetches = {y, g}});
  EXPECT_EQ(count_of(ir, "PackedAttention"), 1);
  EXPECT_EQ(count_of(ir, "PackedAttentionGrad"), 1);
  EXPECT_EQ(count_of(ir, "Split") + count_of(ir, "Concat") + count_of(ir, "Attention"), 0);
  const Tensor apart = attention_by_parts(parts[0], parts[1], parts[2], {.causal = true, .heads = 2});
  expect_near(y, apart, 1e-6);
  expect_near(g, gradients({apart}, {qkv})[0], 1e-5);
  expect_same_bits({y, g}, {parts[1]});
}

TEST_F(FuseTransformerTest, PackedAttentionTakesAMask) {
  const Tensor qkv = tanh(numbers("qkv", {2, 5, 12})), mask = greater(numbers("m", {5, 5}), -0.5f);
  const Tensors parts = split(qkv, 3, 2);
  const Tensor y = attention(parts[0], parts[1], parts[2], {.mask = mask, .heads = 2});
  const Tensor apart = attention_by_parts(parts[0], parts[1], parts[2], {.mask = mask, .heads = 2});
  EXPECT_EQ(count_of(fused({.fetches = {gradients({y}, {qkv})[0]}}), "PackedAttentionGrad"), 1);
  expect_near(y, apart, 1e-6);
  expect_near(gradients({y}, {qkv})[0], gradients({apart}, {qkv})[0], 1e-5);
}

TEST_F(FuseTransformerTest, PartsInAnotherOrderStayApart) {
  const Tensors parts = split(numbers("qkv", {2, 5, 12}), 3, 2);
  const Ir ir = fused({.fetches = {attention(parts[1], parts[0], parts[2], {.heads = 2})}});
  EXPECT_EQ(count_of(ir, "PackedAttention"), 0);
  EXPECT_EQ(count_of(ir, "Split"), 1);
}

// h = x w + b, y = gelu(h) v: the suite's two products, with 70 rows.
struct TwoProducts {
  Tensor x, w, b, v, product, h, activated, y;
  Tensors gradients_of(const Tensors& xs) const { return gradients({reduce_sum(square(y))}, xs); }
};

TwoProducts two_products(const Tensor& x, const Tensor& w, const Tensor& b, const Tensor& v) {
  TwoProducts p{.x = x, .w = w, .b = b, .v = v, .product = matmul(x, w), .h = {}, .activated = {}, .y = {}};
  p.h = p.product + b;
  p.activated = gelu(p.h);
  p.y = matmul(p.activated, v);
  return p;
}

TEST_F(FuseTransformerTest, GeluAndItsGradientArePartsOfTheProductsAroundThem) {
  const Variable x = numbers("x", {2, 35, 10}), w = numbers("w", {10, 33}), b = numbers("b", {33}),
                 v = numbers("v", {33, 7});
  const TwoProducts p = two_products(x, w, b, v);
  const Tensors g = p.gradients_of({p.x, p.w, p.b, p.v});
  const Ir ir = fused({.fetches = {p.y, g[0], g[1], g[2], g[3]}});
  const NodeId forward = the(ir, "MatMulGelu"), backward = the(ir, "MatMulScaled");
  EXPECT_EQ(ir.node(forward).outputs.size(), 2u);  // y and the slope, nothing else
  EXPECT_EQ(ir.node(backward).outputs.size(), 2u);
  EXPECT_EQ(ir.node(backward).inputs[2], ir.node(forward).outputs[1]);
  EXPECT_EQ(count_of(ir, "SumToLike") + count_of(ir, "GeluGrad") + count_of(ir, "Gelu"), 0);
  const auto wide = [](const Tensor& t) { return cast(t, f64); };
  const TwoProducts exact = two_products(wide(p.x), wide(p.w), wide(p.b), wide(p.v));
  const Tensors e = exact.gradients_of({exact.x, exact.w, exact.b, exact.v});
  expect_near(p.y, exact.y, 1e-4);
  for (std::size_t i = 0; i < g.size(); ++i) expect_near(g[i], e[i], 2e-2);  // sums of hundreds of numbers up to 100
  Tensors inner{p.product, p.h, p.activated};
  for (const auto& node : graph.nodes())  // the product that gelu's gradient is taken into
    if (node->def->name == "MatMul" && node->inputs[1] == p.v && node.get() != p.y.node())
      inner.push_back(node->output(0));
  ASSERT_EQ(inner.size(), 4u);
  expect_same_bits({p.y, g[0], g[1], g[2], g[3]}, inner);
}

TEST_F(FuseTransformerTest, WithoutAGradientNoSlopeIsKept) {
  const TwoProducts p =
      two_products(numbers("x", {70, 4}), numbers("w", {4, 6}), numbers("b", {6}), numbers("v", {6, 2}));
  const Ir alone = fused({.fetches = {p.y}}), both = fused({.fetches = {p.y, p.h}});
  EXPECT_EQ(alone.node(the(alone, "MatMulGelu")).outputs.size(), 1u);
  EXPECT_EQ(both.node(the(both, "MatMulGelu")).outputs.size(), 2u);
  expect_same_bits({p.y}, {p.h});
  expect_near(p.h, matmul(p.x, p.w) + p.b, 1e-6);
}

TEST_F(FuseTransformerTest, AFewRowsAreLeftToOneDnn) {
  const TwoProducts p =
      two_products(numbers("x", {8, 4}), numbers("w", {4, 6}), numbers("b", {6}), numbers("v", {6, 2}));
  const Ir ir = fused({.fetches = {p.y}});
  EXPECT_EQ(count_of(ir, "MatMulGelu"), 0);
  EXPECT_EQ(count_of(ir, "FusedMatMul"), 1);
}

TEST_F(FuseTransformerTest, LayerNormTakesTheResidualAlongBothWays) {
  const Variable x = numbers("x", {3, 7}), branch = numbers("r", {3, 7}), gamma = numbers("g", {7}),
                 beta = numbers("b", {7});
  const Tensor sum = x + branch, y = layer_norm(sum, gamma, beta), out = sum + tanh(y);
  const Tensor dx = gradients({reduce_sum(square(out))}, {sum})[0];
  const Ir ir = fused({.fetches = {out, dx}});
  const NodeId forward = the(ir, "FusedLayerNorm"), backward = the(ir, "FusedLayerNormGrad");
  EXPECT_EQ(ir.node(forward).outputs.size(), 4u);
  EXPECT_EQ(ir.node(backward).inputs.size(), 6u);
  const auto wide = [](const Tensor& t) { return cast(t, f64); };
  const Tensor sum64 = wide(x) + wide(branch), out64 = sum64 + tanh(layer_norm(sum64, wide(gamma), wide(beta)));
  expect_near(out, out64, 1e-5);
  expect_near(dx, gradients({reduce_sum(square(out64))}, {sum64})[0], 1e-4);
  Tensors inner{sum, y};
  for (const auto& node : graph.nodes())
    if (node->def->name == "LayerNormGrad" && node->outputs[0].dtype == f32) inner.push_back(node->output(0));
  ASSERT_EQ(inner.size(), 3u);
  expect_same_bits({out, dx}, inner);
}

}  // namespace
}  // namespace belfry
