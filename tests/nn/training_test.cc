// Layers and optimizers at work: values after steps, against loops written out here.
#include <cmath>
#include <functional>

#include "tests/nn/nn_test_support.h"

namespace belfry {
namespace {

constexpr int kSteps = 12;
const std::vector<float> kStart{1.f, -2.f, 0.5f, 3.f}, kCurvature{0.5f, 1.f, 2.f, 0.1f};

class TrainingTest : public NnTest {
 protected:
  // cost = sum c w^2 / 2, whose gradient is c w; the values of w after each step.
  std::vector<std::vector<float>> trajectory(const std::function<std::unique_ptr<Optimizer>()>& optimizer) {
    const Variable w = get_variable("w", {.shape = {4}, .initializer = [](const Shape& s, DType) {
                                            return constant(Array::of<float>(s, kStart));
                                          }});
    const Tensor cost = reduce_sum(constant(Array::of<float>({4}, kCurvature)) * square(w)) * 0.5f;
    const Operation train = optimizer()->minimize(cost);
    Session session(graph);
    session.initialize();
    std::vector<std::vector<float>> out;
    for (int step = 0; step < kSteps; ++step) {
      session.run(train);
      const Array value = session.value(w);
      out.emplace_back(value.values<float>().begin(), value.values<float>().end());
    }
    return out;
  }

  // `rule(w, g, step)` gives the new w of element i.
  static void expect_follows(const std::vector<std::vector<float>>& got, double weight_decay,
                             const std::function<double(std::size_t, double, double, int)>& rule) {
    std::vector<double> w(kStart.begin(), kStart.end());
    for (int step = 0; step < kSteps; ++step)
      for (std::size_t i = 0; i < w.size(); ++i) {
        w[i] = rule(i, w[i], static_cast<double>(kCurvature[i]) * w[i] + weight_decay * w[i], step + 1);
        ASSERT_NEAR(got[static_cast<std::size_t>(step)][i], w[i], 2e-6 * (1 + std::abs(w[i])))
            << "step " << step << ", element " << i;
      }
  }
};

TEST_F(TrainingTest, Sgd) {
  expect_follows(trajectory([] { return sgd({.learning_rate = 0.1f, .weight_decay = 0.05}); }), 0.05,
                 [](std::size_t, double w, double g, int) { return w - 0.1 * g; });
}

TEST_F(TrainingTest, Momentum) {
  std::vector<double> a(4);
  expect_follows(trajectory([] { return momentum({.learning_rate = 0.1f, .momentum = 0.8, .weight_decay = 0.05}); }),
                 0.05, [&](std::size_t i, double w, double g, int) { return w - 0.1 * (a[i] = 0.8 * a[i] + g); });
}

TEST_F(TrainingTest, Nesterov) {
  std::vector<double> a(4);
  expect_follows(trajectory([] { return momentum({.learning_rate = 0.1f, .momentum = 0.8, .nesterov = true}); }), 0,
                 [&](std::size_t i, double w, double g, int) {
                   a[i] = 0.8 * a[i] + g;
                   return w - 0.1 * (g + 0.8 * a[i]);
                 });
}

TEST_F(TrainingTest, Adam) {
  std::vector<double> m(4), v(4);
  expect_follows(
      trajectory([] { return adam({.learning_rate = 0.05f, .beta1 = 0.8, .beta2 = 0.95, .weight_decay = 0.1}); }), 0.1,
      [&](std::size_t i, double w, double g, int step) {
        m[i] = 0.8 * m[i] + 0.2 * g;
        v[i] = 0.95 * v[i] + 0.05 * g * g;
        const double mean = m[i] / (1 - std::pow(0.8, step)), square = v[i] / (1 - std::pow(0.95, step));
        return w - 0.05 * mean / (std::sqrt(square) + 1e-8);
      });
}

TEST_F(TrainingTest, AChangedHyperParameterActsOnTheNextStep) {
  const Variable w = get_variable("w", {.shape = {}, .initializer = init::constant(1)}),
                 rate = hyper_param("learning_rate", 0.5f);
  const Operation train = sgd({.learning_rate = rate})->minimize(w * 1.f);
  Session session(graph);
  session.initialize();
  session.run(train);
  EXPECT_FLOAT_EQ(static_cast<float>(session.value(w).item()), 0.5f);
  session.set_value(rate, 0.125f);
  session.run(train);
  EXPECT_FLOAT_EQ(static_cast<float>(session.value(w).item()), 0.375f);
}

TEST_F(TrainingTest, RegulariserValues) {
  get_variable("w", {.shape = {3},
                     .initializer = [](const Shape& s, DType) { return constant(Array::of<float>(s, {1, -2, 3})); }});
  const LogRedirect quiet([](LogLevel, std::string_view) {});
  const Tensor one = regularize_cost("w", l1(0.5)), two = regularize_cost("w", l2(0.5)),
               none = regularize_cost("x", l2(0.5));
  Session session(graph);
  session.initialize();
  EXPECT_DOUBLE_EQ(session.run(one).item(), 3);
  EXPECT_DOUBLE_EQ(session.run(two).item(), 3.5);
  EXPECT_DOUBLE_EQ(session.run(none).item(), 0);
}

// Images of one bright quadrant each; the label says which.
Feeds quadrants(const Tensor& image, const Tensor& label) {
  Array images = Array::zeros(f32, {16, 8, 8, 1}), labels(i32, {16});
  for (std::int64_t n = 0; n < 16; ++n) {
    const std::int64_t quadrant = n % 4;
    labels.set_item(n, static_cast<double>(quadrant));
    for (std::int64_t y = 0; y < 4; ++y)
      for (std::int64_t x = 0; x < 4; ++x)
        images.set_item(n * 64 + (y + quadrant / 2 * 4) * 8 + x + quadrant % 2 * 4,
                        0.5 + 0.03 * static_cast<double>(n));
  }
  return {{image, images}, {label, labels}};
}

TEST_F(TrainingTest, AConvnetWithEveryLayerFitsABatchAndPredictsIt) {
  const LogRedirect quiet([](LogLevel, std::string_view) {});
  const Tensor image = placeholder(f32, {kAny, 8, 8, 1}, "image"), label = placeholder(i32, {kAny}, "label");
  const auto build = [&] {
    const auto conv = conv2d({.filters = 8, .activation = relu});
    const Tensor logits = (image * 2.f - 1.f) | conv("conv0") | max_pool("pool0", 2) | batch_norm("bn") |
                          conv("conv1") | avg_pool("pool1", 2) |
                          fully_connected("fc0", {.units = 16, .activation = tanh}) | dropout("drop", 0.2f) |
                          fully_connected("fc1", {.units = 4});
    prediction_incorrect(logits, label, "incorrect");
    return add(reduce_mean(sparse_softmax_cross_entropy(logits, label)), regularize_cost("fc.*/W", l2(1e-4)), "cost");
  };
  Operation train;
  Tensor cost;
  {
    const TrainTowerContext tower("");
    cost = build();
    train = adam({.learning_rate = 0.01f})->minimize(cost);
  }
  {
    const PredictTowerContext tower("predict");
    build();
  }
  std::vector<Fetch> step{cost, train};
  for (const Operation& update : graph.collections().operations(collection::kUpdateOps)) step.emplace_back(update);
  Session session(graph);
  session.initialize();
  const Feeds feeds = quadrants(image, label);
  const double before = session.run(step, feeds)[0].item();
  for (int i = 0; i < 60; ++i) session.run(step, feeds);
  EXPECT_LT(session.run(cost, feeds).item(), 0.1 * before);
  const Array wrong = session.run("predict/incorrect", feeds);
  for (std::int64_t i = 0; i < 16; ++i) EXPECT_EQ(wrong.item(i), 0) << i;
}

TEST_F(TrainingTest, LayersUnderControlDependenciesSeeTheirVariablesAssigned) {
  const Tensor x = placeholder(f32, {1, 1, 1, 1}), flat = placeholder(f32, {1, 1});
  const auto layers = [&] {
    return Tensors{x | conv2d("conv", {.filters = 1, .kernel = 1, .kernel_initializer = init::ones()}),
                   flat | fully_connected("fc", {.units = 1, .kernel_initializer = init::ones()}),
                   flat | batch_norm("bn", {.epsilon = 0, .training = false})};
  };
  const Tensors old = layers();
  std::vector<Operation> assignments;
  for (const Variable& v : graph.variables()) assignments.emplace_back(v.assign(fill(v.shape(), 4)));
  const auto shared = VariableScope::reopen({.reuse = Reuse::yes});
  const ControlDependencies after(assignments);
  const Tensors now = layers();
  Session session(graph);
  session.initialize();
  const auto values = session.run({old[0], old[1], old[2], now[0], now[1], now[2]},
                                  {{x, Array::full(f32, x.shape(), 2)}, {flat, Array::full(f32, flat.shape(), 2)}});
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(values[i].item(), 2) << i;
  EXPECT_EQ(values[3].item(), 12);  // 2 * W + b
  EXPECT_EQ(values[4].item(), 12);
  EXPECT_EQ(values[5].item(), 0);  // (2 - mean) * gamma / sqrt(variance) + beta
}

class BatchNormTrainingTest : public NnTest {
 protected:
  // Channel 0: 1 2 3 6 (mean 3, biased variance 3.5, unbiased 14/3); channel 1: constant 5.
  const Array batch = Array::of<float>({4, 2}, {1, 5, 2, 5, 3, 5, 6, 5});
};

TEST_F(BatchNormTrainingTest, NormalisesByTheBatchAndMovesTheAveragesByTheUnbiasedVariance) {
  const Tensor x = placeholder(f32, {kAny, 2});
  Tensor y, predicted;
  {
    const TrainTowerContext tower("");
    y = x | batch_norm("bn", {.momentum = 0.75, .epsilon = 1e-3});
  }
  {
    const PredictTowerContext tower("predict");
    predicted = x | batch_norm("bn", {.epsilon = 1e-3});
  }
  std::vector<Fetch> fetches{y};
  for (const Operation& update : graph.collections().operations(collection::kUpdateOps)) fetches.emplace_back(update);
  Session session(graph);
  session.initialize();
  const Array value = session.run(fetches, {{x, batch}})[0];
  EXPECT_NEAR(value.item(0), (1 - 3) / std::sqrt(3.5 + 1e-3), 1e-5);
  EXPECT_NEAR(value.item(6), (6 - 3) / std::sqrt(3.5 + 1e-3), 1e-5);
  EXPECT_NEAR(value.item(7), 0, 1e-5);
  EXPECT_NEAR(session.value(variable("bn/mean/EMA")).item(0), 0.25 * 3, 1e-6);
  EXPECT_NEAR(session.value(variable("bn/mean/EMA")).item(1), 0.25 * 5, 1e-6);
  const double variance = 0.75 + 0.25 * 14 / 3;
  EXPECT_NEAR(session.value(variable("bn/variance/EMA")).item(0), variance, 1e-5);
  EXPECT_NEAR(session.value(variable("bn/variance/EMA")).item(1), 0.75, 1e-6);
  EXPECT_NEAR(session.run(predicted, {{x, batch}}).item(6), (6 - 0.75) / std::sqrt(variance + 1e-3), 1e-5);
}

TEST_F(BatchNormTrainingTest, ABatchOfOneValueAChannelMovesTheVarianceByNothingInfinite) {
  const Tensor x = placeholder(f32, {kAny, 2});
  x | batch_norm("bn", {.momentum = 0.5, .training = true});
  const std::vector<Operation> updates = graph.collections().operations(collection::kUpdateOps);
  Session session(graph);
  session.initialize();
  session.run({updates.begin(), updates.end()}, {{x, Array::of<float>({1, 2}, {4, 6})}});
  EXPECT_NEAR(session.value(variable("bn/mean/EMA")).item(1), 3, 1e-6);
  EXPECT_NEAR(session.value(variable("bn/variance/EMA")).item(1), 0.5, 1e-6);
}

TEST_F(TrainingTest, ABiasIsAddedToItsChannelInEitherFormat) {
  const Tensor nhwc = placeholder(f32, {2, 3, 3, 2}), nchw = placeholder(f32, {2, 2, 3, 3});
  const auto bias = [](const Shape& s, DType) { return constant(Array::of<float>(s, {1, 2, 3})); };
  const Conv2dLayerOptions options{
      .filters = 3, .kernel = 1, .kernel_initializer = init::zeros(), .bias_initializer = bias};
  Conv2dLayerOptions first = options;
  first.data_format = DataFormat::channels_first;
  const Tensor a = nhwc | conv2d("a", options), b = nchw | conv2d("b", first);
  Session session(graph);
  session.initialize();
  const Array last = session.run(a, {{nhwc, Array::zeros(f32, nhwc.shape())}}),
              channels_first = session.run(b, {{nchw, Array::zeros(f32, nchw.shape())}});
  for (int i = 0; i < 54; ++i) {
    EXPECT_EQ(last.item(i), i % 3 + 1);
    EXPECT_EQ(channels_first.item(i), i / 9 % 3 + 1);
  }
}

TEST_F(BatchNormTrainingTest, InternalUpdatesRunWithTheOutput) {
  const Tensor x = placeholder(f32, {kAny, 2});
  const Tensor y = x | batch_norm("bn", {.momentum = 0.5, .training = true, .ema_update = EmaUpdate::internal});
  Session session(graph);
  session.initialize();
  session.run(y, {{x, batch}});
  EXPECT_NEAR(session.value(variable("bn/mean/EMA")).item(0), 1.5, 1e-6);
  EXPECT_NEAR(session.value(variable("bn/mean/EMA")).item(1), 2.5, 1e-6);
}

}  // namespace
}  // namespace belfry
