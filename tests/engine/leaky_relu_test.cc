// What the engine puts leaky relu and its gradient into.
#include "belfry/ops/leaky_relu.h"

#include "belfry/graph/gradients.h"
#include "belfry/ops/batch_norm.h"
#include "belfry/ops/conv.h"
#include "belfry/ops/pointwise.h"
#include "tests/engine/ir_testing.h"
#include "tests/engine/poison_run.h"

namespace belfry {
namespace {

class LeakyFusionTest : public PoisonTest {
 protected:
  static Tensor weight(const char* name, const Shape& shape, DType dtype) {
    return get_variable(name, {.shape = shape, .dtype = dtype});
  }
  static Tensor conv(const Tensor& x, const char* name, std::int64_t channels = 21) {
    return conv2d(x, weight(name, {3, 3, x.shape()[3], channels}, x.dtype()));
  }
  static std::int64_t count(const Ir& ir, const std::string& op) {
    return std::ranges::count_if(ir.nodes(), [&](const IrNode& n) { return !n.dead && n.op == op_kind(op); });
  }
  static void expect_gone(const Ir& ir) {
    for (const char* op : {"LeakyRelu", "LeakyReluGrad", "BatchNorm", "BatchNormGrad"})
      EXPECT_EQ(count(ir, op), 0) << op;
  }
  static inline const Shape kShape{2, 6, 6, 21};  // neither a multiple of 8 nor of 16
};

TEST_F(LeakyFusionTest, ConvolutionAndBiasTakeItAlong) {
  const Ir ir =
      check(kShape, [](const Tensor& x) { return Tensors{leaky_relu(conv(x, "W") + weight("b", {21}, x.dtype()))}; });
  EXPECT_EQ(count(ir, "FusedConv"), 1);
  EXPECT_EQ(count(ir, "FusedPointwise"), 0);
  expect_gone(ir);
}

TEST_F(LeakyFusionTest, AnAlphaBelowZeroKeepsTheSignForItsGradient) {
  check(kShape, [](const Tensor& x) {
    const Tensor w = weight("W", {3, 3, 21, 5}, x.dtype());
    const Tensor y = leaky_relu(conv2d(x, w) + weight("b", {5}, x.dtype()), -0.5);
    return Tensors{y, gradients({square(y)}, {w})[0]};
  });
}

TEST_F(LeakyFusionTest, BatchNormTakesItAlongForwardAndBackward) {
  for (const bool residual : {false, true}) {
    const Ir ir = check(kShape, [=](const Tensor& x) {
      const Tensor h = conv(x, "W"), gamma = weight("gamma", {21}, x.dtype()), beta = weight("beta", {21}, x.dtype());
      const Tensor norm = batch_norm(h, gamma, beta).y, y = leaky_relu(residual ? norm + conv(x, "V") : norm, 0.3);
      return gradients({square(conv(y, "U"))}, {x, gamma, beta});
    });
    EXPECT_EQ(count(ir, "FusedBatchNorm"), 1);
    EXPECT_EQ(count(ir, "FusedBatchNormGrad"), 1);
    expect_gone(ir);
  }
}

TEST_F(LeakyFusionTest, PaddingStaysZeroInChains) {
  check(kShape, [](const Tensor& x) {
    const Tensor y = conv(x, "W");
    return Tensors{conv(leaky_relu(y, 0.3), "U"), conv(tanh(leaky_relu(y * y, 0.3)), "V")};
  });
}

}  // namespace
}  // namespace belfry
