// WGAN-GP: the cost holds the norm of the critic's gradient for its input, so training goes through every layer's
// gradient once more. Against central differences, for each variable of the critic.
#include <cmath>

#include "tests/nn/nn_test_support.h"

namespace belfry {
namespace {

class GradientPenaltyTest : public NnTest {
 protected:
  using Critic = Tensor (*)(const Tensor& x);

  static Array waves(const Shape& shape) {
    Array out(f64, shape);
    for (std::int64_t i = 0; i < out.elements(); ++i) out.set_item(i, std::sin(1.7 * static_cast<double>(i)));
    return out;
  }

  // mean((|gradient of an example| - 1)^2)
  static Tensor penalty_of(const Tensor& x, Critic critic) {
    const Tensor slope = batch_flatten(gradients(reduce_sum(critic(x)), {x})[0]);
    return reduce_mean(square(sqrt(reduce_sum(square(slope), {.axes = {1}})) - 1.f));
  }

  void check(Critic critic) {
    const TrainTowerContext tower("");
    const Tensor x = placeholder(f64, {kAny, 6, 6, 2});
    const Tensor penalty = penalty_of(x, critic);
    const std::vector<Variable> variables = graph.collections().variables(collection::kTrainableVariables);
    const Tensors exact = gradients(penalty, variables);
    Session session(graph);
    session.initialize();
    const Feeds feeds{{x, waves({3, 6, 6, 2})}};
    int connected = 0;
    for (std::size_t k = 0; k < variables.size(); ++k) {
      if (exact[k]) ++connected;
      // A last bias does not change the slope: no gradient, and no difference.
      const Array analytic = exact[k] ? session.run(exact[k], feeds) : Array::zeros(f64, variables[k].shape());
      const Array start = session.value(variables[k]).clone();
      const auto at = [&](std::int64_t i, double step) {
        Array moved = start.clone();
        moved.set_item(i, start.item(i) + step);
        session.set_value(variables[k], moved);
        return session.run(penalty, feeds).item();
      };
      for (std::int64_t i = 0; i < start.elements(); i += std::max<std::int64_t>(1, start.elements() / 7)) {
        const double numeric = (at(i, 1e-5) - at(i, -1e-5)) / 2e-5;
        EXPECT_NEAR(analytic.item(i), numeric, 1e-6 * std::max(1.0, std::abs(numeric)))
            << variables[k].name() << " at " << i;
      }
      session.set_value(variables[k], start);
    }
    EXPECT_GE(connected, 4);
  }
};

Conv2dLayerOptions strided() { return {.filters = 3, .kernel = 3, .strides = 2, .activation = leaky_relu}; }
Layer score() { return fully_connected("score", {.units = 1}); }

TEST_F(GradientPenaltyTest, ConvolutionLayerNormAndDense) {
  check([](const Tensor& x) {
    return x | conv2d("conv0", strided()) | layer_norm("norm") | tanh | conv2d("conv1", strided()) | flatten() |
           dense("hidden", {.units = 4, .activation = softplus}) | score();
  });
}
TEST_F(GradientPenaltyTest, GroupNormAndMaxPooling) {
  check([](const Tensor& x) {
    return x | conv2d("conv", {.filters = 4}) | group_norm("norm", {.groups = 2}) | sigmoid | max_pool("pool", 2) |
           score();
  });
}
TEST_F(GradientPenaltyTest, InstanceNormAndAveragePooling) {
  check([](const Tensor& x) {
    return x | depthwise_conv2d("conv", {.multiplier = 2}) | instance_norm("norm") | gelu | avg_pool("pool", 2) |
           score();
  });
}
TEST_F(GradientPenaltyTest, BatchNormAndTransposedConvolution) {
  check([](const Tensor& x) {
    return x | conv2d_transpose("up", {.filters = 3, .strides = 2}) | batch_norm("norm") | tanh |
           global_avg_pool("mean") | score();
  });
}

}  // namespace
}  // namespace belfry
