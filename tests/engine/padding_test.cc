// Padding inside blocked layouts stays zero through every family of kernels.
#include <limits>

#include "belfry/graph/gradients.h"
#include "belfry/ops/activation.h"
#include "belfry/ops/array_ops.h"
#include "belfry/ops/batch_norm.h"
#include "belfry/ops/conv.h"
#include "belfry/ops/group_norm.h"
#include "belfry/ops/internal/sync_batch_norm.h"
#include "belfry/ops/optimizer.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/pool.h"
#include "belfry/ops/random.h"
#include "belfry/ops/reduce.h"
#include "belfry/ops/resize.h"
#include "tests/engine/poison_run.h"

namespace belfry {
namespace {

class PaddingTest : public PoisonTest {
 protected:
  void check(const std::function<Tensors(const Tensor& x)>& net) {
    EXPECT_TRUE(any_padding(PoisonTest::check(kShape, net))) << "a test of padding without padding";
  }
  static Tensor weight(const char* name, const Shape& shape, DType dtype) {
    return get_variable(name, {.shape = shape, .dtype = dtype});
  }
  static Tensor conv(const Tensor& x, const char* name = "W", std::int64_t channels = 21) {
    return conv2d(x, weight(name, {3, 3, x.shape()[3], channels}, x.dtype()));
  }

  static inline const Shape kShape{2, 6, 6, 21};  // neither a multiple of 8 nor of 16
};

TEST_F(PaddingTest, StaysZeroThroughUnaryOps) {
  check([](const Tensor& x) {
    const Tensor y = conv(x);
    Tensors out;
    for (const Tensor& t : {exp(y),       sigmoid(y),
                            cos(y),       tanh(y),
                            relu(y),      square(y),
                            negative(y),  exp(-y),
                            sin(y),       floor(y),
                            sign(y),      round(y),
                            expm1(y),     softplus(y),
                            elu(y),       selu(y),
                            swish(y),     clip_by_value(y, 0.1f, 0.2f),
                            mod(y, 0.3f), prelu(y, weight("slope", {21}, x.dtype()))})
      out.push_back(conv(t, ("V" + std::to_string(out.size())).c_str(), 3));
    return out;
  });
}

TEST_F(PaddingTest, StaysZeroThroughOpsWithANumber) {
  check([](const Tensor& x) {
    const Tensor y = conv(x);
    Tensors out;
    for (const Tensor& t : {y + 1.f, y - 0.5f, 2.f - y, y * 3.f, y / 2.f, 1.f / (square(y) + 1.f), maximum(y, 0.25f),
                            minimum(y, -0.25f), squared_difference(y, 0.5f), pow(square(y), 1.5f)})
      out.push_back(conv(t, ("V" + std::to_string(out.size())).c_str(), 3));
    return out;
  });
}

// What does not keep zero is cleared where it is: nothing leaves its blocks between the convolutions.
TEST_F(PaddingTest, ProgramsThatDoNotKeepZeroStayInBlocks) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const std::int64_t channels : {3, 20}) {
    SCOPED_TRACE(channels);
    const auto net = [&](const std::function<Tensor(const Tensor&)>& f) {
      return PoisonTest::check({2, 6, 6, channels}, [&](const Tensor& x) {
        const Tensor y = conv2d(x, weight("W", {3, 3, 1, channels}, x.dtype()), {.groups = channels});
        return Tensors{conv2d(f(y), weight("V", {1, 1, channels, channels}, x.dtype()))};
      });
    };
    const std::function<Tensor(const Tensor&)> programs[] = {
        [](const Tensor& y) { return y * 3.f; }, [](const Tensor& y) { return exp(y); },
        [](const Tensor& y) { return sigmoid(y * 2.f - 1.f); }, [](const Tensor& y) { return 1.f / (y + 2.f); },
        // Infinite on the way only: oneDNN's own padding is 0 times what it reads.
        [=](const Tensor& y) { return minimum(maximum(y * infinity, -1.f), 1.f); },
        [=](const Tensor& y) { return exp(y - infinity) + 0.5f; },
        [](const Tensor& y) { return y * reduce_sum(y); },  // a number that is not known before
    };
    for (const auto& f : programs) {
      const Ir ir = net(f);
      EXPECT_TRUE(any_padding(ir));
      for (const IrNode& node : ir.nodes()) {
        if (node.dead || node.op != op_kind("FusedPointwise") || ir.info(node.outputs[0]).shape.rank() != 4) continue;
        EXPECT_FALSE(ir.info(node.outputs[0]).layout.plain());
        EXPECT_TRUE(has_padding(ir.info(node.outputs[0]).layout));
      }
      EXPECT_EQ(count_of(ir, "FusedPointwise"), 1);
    }
  }
}

TEST_F(PaddingTest, StaysZeroThroughBinaryOps) {
  check([](const Tensor& x) {
    const Tensor y = conv(x), z = conv(x, "U");
    Tensors out;
    for (const Tensor& t : {y + z, y * z, y - z, y / (square(z) + 1.f), maximum(y, z), squared_difference(y, z),
                            select(greater(y, z), y, z), select(less(y, z), 1.f, y), clip_by_value(y, z, 0.5f),
                            y + weight("b", {21}, x.dtype()), y * weight("c", {6, 21}, x.dtype())})
      out.push_back(conv(t, ("V" + std::to_string(out.size())).c_str(), 3));
    return out;
  });
}

TEST_F(PaddingTest, StaysZeroThroughNormalisationAcrossTowers) {
  check([](const Tensor& x) {
    const Tensor gamma = weight("gamma", {21}, x.dtype()), beta = weight("beta", {21}, x.dtype());
    Tensors y;
    for (int t : {0, 1})
      y.push_back(
          sync_batch_norm(conv(x, t == 0 ? "W" : "V"), gamma, beta, {}, {.name = "bn", .tower = t, .total = 2}).y);
    const Tensor z = conv(y[0], "U", 3) + conv(y[1], "T", 3);
    Tensors out{z};
    for (const Tensor& g : gradients({reduce_sum(square(z))}, {x, gamma, beta})) out.push_back(g);
    return out;
  });
}

TEST_F(PaddingTest, StaysZeroThroughNormalisationOfExamples) {
  check([](const Tensor& x) {
    const Tensor gamma = weight("gamma", {21}, x.dtype()), beta = weight("beta", {21}, x.dtype());
    const Tensor y = conv(group_norm(conv(x), gamma, beta, {.groups = 7}), "V");
    const Tensor z = conv(instance_norm(y, gamma, beta), "U", 3);
    Tensors out{z};
    for (const Tensor& g : gradients({reduce_sum(square(z))}, {x, gamma, beta})) out.push_back(g);
    return out;
  });
}

// Resizing takes blocks as they are: nothing is reordered between the convolutions.
TEST_F(PaddingTest, StaysZeroThroughResizing) {
  for (const bool linear : {false, true}) {
    const Ir ir = PoisonTest::check(kShape, [&](const Tensor& x) {
      const Tensor y = conv(x);
      const ResizeOptions twice{.scale = 2, .half_pixel_centers = true};
      const Tensor z = conv(linear ? resize_bilinear(y, twice) : resize_nearest(y, twice), "V");
      return Tensors{reduce_sum(z), gradients({reduce_sum(square(z))}, {x})[0]};
    });
    EXPECT_TRUE(any_padding(ir));
    for (const IrNode& node : ir.nodes())
      EXPECT_TRUE(node.dead || !node.op.name().starts_with("Resize") || !ir.info(node.outputs[0]).layout.plain())
          << node.op.name();
  }
}

TEST_F(PaddingTest, StaysZeroThroughLayersAndTheirGradients) {
  check([](const Tensor& x) {
    Tensor y = relu(conv(x) + weight("b", {21}, x.dtype()));
    const Tensor shortcut = y = max_pool2d(y);
    y = batch_norm(conv(y, "W2"), weight("gamma", {21}, x.dtype()), weight("beta", {21}, x.dtype())).y;
    y = relu(y + shortcut);
    const Tensor ones = weight("variance", {21}, x.dtype()) * 0.f + 1.f;
    y = batch_norm_inference(y, {.gamma = weight("gamma2", {21}, x.dtype()),
                                 .beta = weight("beta2", {21}, x.dtype()),
                                 .mean = weight("mean", {21}, x.dtype()),
                                 .variance = ones});
    y = avg_pool2d(dropout(conv(y, "W3"), 0.0), {.window = 3, .strides = 1, .padding = Padding::same});
    y = reduce_mean(concat({y, y * 2.f}, 3), {.axes = {1, 2}});
    const Tensor loss = reduce_sum(square(y));
    Tensors out{y, loss}, xs{x};
    for (const Variable& v : current_graph().variables()) xs.push_back(v.handle());
    for (const Tensor& g : gradients({loss}, xs)) out.push_back(g);
    return out;
  });
}

TEST_F(PaddingTest, StaysZeroThroughUpdatesOfWeights) {
  check([](const Tensor& x) {
    const Variable a = get_variable("a", {.shape = {3, 3, 21, 21}, .dtype = x.dtype()}),
                   b = get_variable("b", {.shape = {3, 3, 21, 21}, .dtype = x.dtype()});
    const Variable slot = get_variable("slot", {.shape = {3, 3, 21, 21}, .dtype = x.dtype()});
    const Tensors g = gradients({square(conv2d(tanh(conv2d(x, a)), b))}, {a.handle(), b.handle()});
    return Tensors{apply_sgd(a, 0.01f, g[0], {.weight_decay = 0.1}), apply_momentum(b, slot, 0.01f, g[1])};
  });
}

}  // namespace
}  // namespace belfry
