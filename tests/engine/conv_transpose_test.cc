// What the engine makes of transposed convolutions and their neighbours.
#include "belfry/ops/conv_transpose.h"

#include <algorithm>

#include "belfry/graph/gradients.h"
#include "belfry/ops/batch_norm.h"
#include "belfry/ops/conv.h"
#include "belfry/ops/leaky_relu.h"
#include "belfry/ops/pointwise.h"
#include "tests/engine/poison_run.h"

namespace belfry {
namespace {

class ConvTransposeEngineTest : public PoisonTest {
 protected:
  static Tensor weight(const char* name, const Shape& shape, DType dtype) {
    return get_variable(name, {.shape = shape, .dtype = dtype});
  }
  // Twice as large.
  static Tensor up(const Tensor& x, const char* name, std::int64_t channels) {
    return conv2d_transpose(x, weight(name, {4, 4, channels, x.shape()[3]}, x.dtype()), {.strides = 2});
  }
  static std::int64_t count(const Ir& ir, const std::string& op) {
    return std::ranges::count_if(ir.nodes(), [&](const IrNode& n) { return !n.dead && n.op == op_kind(op); });
  }
  // Reorders of images: those of filters are not counted.
  static std::int64_t moved_images(const Ir& ir) {
    return std::ranges::count_if(ir.nodes(), [&](const IrNode& n) {
      return !n.dead && n.op == op_kind("Reorder") && ir.info(n.outputs[0]).shape[0] == kShape[0];
    });
  }
  static inline const Shape kShape{2, 5, 6, 21};  // channels neither a multiple of 8 nor of 16
};

TEST_F(ConvTransposeEngineTest, BiasAndActivationsGoAlong) {
  const std::function<Tensor(const Tensor&)> activations[] = {
      [](const Tensor& t) { return t; }, [](const Tensor& t) { return relu(t); },
      [](const Tensor& t) { return leaky_relu(t); }, [](const Tensor& t) { return tanh(t); }};
  for (const auto& activation : activations) {
    const Ir ir = check(kShape, [&](const Tensor& x) {
      const Tensor w = weight("W", {4, 4, 20, 21}, x.dtype()), b = weight("b", {20}, x.dtype());
      const Tensor y = activation(conv2d_transpose(x, w, {.strides = 2}) + b);
      const Tensor z = conv2d(y, weight("V", {3, 3, 20, 8}, x.dtype()));
      Tensors out = gradients({square(z)}, {x, w, b});
      out.push_back(z);
      return out;
    });
    EXPECT_EQ(count(ir, "FusedConvTranspose"), 1);
    EXPECT_EQ(count(ir, "SumToLike"), 0);
  }
}

TEST_F(ConvTransposeEngineTest, AGeneratorKeepsItsImagesInBlocksUntilTheLast) {
  const Ir ir = check(kShape, [](const Tensor& x) {
    const auto norm = [&](const Tensor& t, const char* gamma, const char* beta) {
      const Shape channels{t.shape()[3]};
      return relu(batch_norm(t, weight(gamma, channels, t.dtype()), weight(beta, channels, t.dtype())).y);
    };
    const Tensor h = norm(up(norm(up(x, "A", 40), "g0", "b0"), "B", 20), "g1", "b1");
    const Tensor image = tanh(up(h, "C", 1) + weight("b", {1}, x.dtype()));
    Tensors out = gradients({square(image)}, {x});
    out.push_back(image);
    return out;
  });
  EXPECT_LE(moved_images(ir), 3) << "x, its gradient and one of plain channels at most";
  EXPECT_TRUE(std::ranges::all_of(ir.nodes(), [&](const IrNode& n) {
    return n.dead || n.outputs.empty() || ir.info(n.outputs[0]).shape.rank() != 4 ||
           ir.info(n.outputs[0]).shape[3] != 1 || ir.info(n.outputs[0]).layout.plain();
  })) << "an image of one channel is not padded";
}

TEST_F(ConvTransposeEngineTest, GroupsAndChannelsFirstAgreeWithTheReference) {
  check({2, 5, 6, 32}, [](const Tensor& x) {
    return Tensors{conv2d_transpose(x, weight("W", {3, 3, 8, 32}, x.dtype()), {.strides = 2, .groups = 4}),
                   conv2d_transpose(x, weight("D", {3, 3, 1, 32}, x.dtype()), {.strides = 2, .groups = 32}),
                   conv2d_transpose(x, weight("F", {3, 3, 1, 5}, x.dtype()), {.data_format = DataFormat::nchw})};
  });
}

}  // namespace
}  // namespace belfry
