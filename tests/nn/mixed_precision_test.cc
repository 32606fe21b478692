// Training with products in bf16: it converges as f32 does, and what is kept is f32.
#include <cmath>

#include "belfry/base/log.h"
#include "belfry/base/random.h"
#include "belfry/engine/cpu/kernel/bf16_support.h"
#include "tests/nn/nn_test_support.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

constexpr Precision kLow[] = {Precision::bf16, Precision::bf16_emulated};

// Images whose label is the brightest of four quarters.
struct Quarters {
  explicit Quarters(std::uint64_t seed) {
    RandomStream stream(seed);
    image = Array(f32, {64, 8, 8, 3});
    label = Array(i32, {64});
    for (float& v : image.values<float>()) v = static_cast<float>(stream.uniform());
    for (std::size_t n = 0; n < 64; ++n) {
      const auto quarter = static_cast<std::size_t>(stream.uniform() * 4);
      label.values<std::int32_t>()[n] = static_cast<std::int32_t>(quarter);
      for (std::size_t i = 0; i < 48; ++i) {
        const std::size_t y = i / 12 + quarter / 2 * 4, x = i / 3 % 4 + quarter % 2 * 4;
        image.values<float>()[((n * 8 + y) * 8 + x) * 3 + i % 3] += 0.4f;
      }
    }
  }
  Array image, label;
};

Tensor convnet(const Tensor& image) {
  const auto conv = conv2d({.filters = 16, .kernel = 3});
  return image | conv("conv0") | batch_norm("bn0") | max_pool("pool", 2) | conv("conv1") |
         fully_connected("fc", {.units = 4});
}
Tensor perceptron(const Tensor& image) {
  return image | fully_connected("fc0", {.units = 64, .activation = relu}) | fully_connected("fc1", {.units = 4});
}

// The mean loss of the last ten steps.
double train(Tensor (*model)(const Tensor&), Precision precision, int steps, std::vector<Array>* variables = nullptr) {
  Graph graph;
  const GraphScope scope(graph);
  const TrainTowerContext tower("");
  const Tensor image = placeholder({"image", f32, {kAny, 8, 8, 3}}), label = placeholder({"label", i32, {kAny}});
  const Tensor loss = reduce_mean(sparse_softmax_cross_entropy(model(image), label));
  const Operation update = adam({.learning_rate = 2e-3f})->minimize(loss);
  Session session(graph, {.devices = {{1}}, .precision = precision});
  session.initialize();
  double sum = 0;
  for (int step = 0; step < steps; ++step) {
    const Quarters data(static_cast<std::uint64_t>(step));
    const double now = session.run({loss, update}, {{image, data.image}, {label, data.label}})[0].item();
    if (step >= steps - 10) sum += now;
  }
  EXPECT_EQ(session.cached_plans(), 2) << "one to initialise, one to train";
  for (const Variable& v : graph.variables())
    if (variables != nullptr) variables->push_back(session.value(v));
  return sum / 10;
}

TEST(MixedPrecision, TrainingConvergesAsInF32) {
  for (const auto model : {perceptron, convnet}) {
    const double start = train(model, Precision::f32, 10), full = train(model, Precision::f32, 60);
    EXPECT_LT(full, start * 0.6) << "this test trains";
    for (const Precision precision : kLow) EXPECT_NEAR(train(model, precision, 60), full, 0.05 * full);
  }
}

TEST(MixedPrecision, ATrainingRunHasTheSameBitsEveryTime) {
  std::vector<Array> first, second;
  train(convnet, Precision::bf16, 10, &first);
  train(convnet, Precision::bf16, 10, &second);
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(equal(first[i], second[i])) << i;
}

class MixedPrecisionTest : public NnTest {};

// Next to 1, bf16's numbers are 1/128 or 1/256 apart: a bf16 weight would never move.
TEST_F(MixedPrecisionTest, SmallUpdatesAddUpInF32Weights) {
  const Variable w = get_variable("w", {.shape = {32, 32}, .initializer = init::ones()});
  const Tensor x = constant(Array::full(f32, {32, 32}, 1));
  const Operation update = sgd({.learning_rate = 1e-4f / 32})->minimize(reduce_sum(matmul(x, w)));
  for (const Precision precision : kLow) {
    Session session(graph, {.precision = precision});
    session.initialize();
    session.run({update});
    EXPECT_NEAR(session.value(w).item(), 1 - 1e-4, 1e-7);
    for (int step = 1; step < 100; ++step) session.run({update});
    EXPECT_NEAR(session.value(w).item(), 1 - 1e-2, 1e-5);
    EXPECT_EQ(session.value(w).dtype(), f32);
  }
}

TEST_F(MixedPrecisionTest, ACheckpointIsTheSameWhateverThePrecision) {
  const testing_support::TempDir dir;
  const Variable w = get_variable("w", {.shape = {40, 40}, .initializer = init::uniform({.low = -1, .high = 1})});
  const Tensor y = matmul(w, w);
  Session low(graph, {.precision = Precision::bf16}), full(graph);
  low.initialize();
  const Array low_before = low.run(y);
  Saver(low, {.directory = dir.path()}).save(1);
  ContinueRun(dir.path()).init(full);
  EXPECT_TRUE(equal(low.value(w), full.value(w))) << "nothing of w was rounded";
  const Array value = full.run(y);
  EXPECT_FALSE(equal(value, low_before));
  ContinueRun(dir.path()).init(low);
  EXPECT_TRUE(equal(low.run(y), low_before));
}

TEST_F(MixedPrecisionTest, AFetchMoreChangesNoBits) {
  const Tensor x = placeholder(f32, {16, 24});
  const Variable w = get_variable("w", {.shape = {24, 32}, .initializer = init::uniform({.low = -1, .high = 1})}),
                 b = get_variable("b", {.shape = {32}, .initializer = init::uniform({.low = -1, .high = 1})});
  const Tensor product = matmul(x, w), y = relu(product + b);
  const Tensor g = gradients(reduce_sum(square(y)), {w})[0];
  const Feeds feeds{{x, Array::full(f32, {16, 24}, 0.3)}};
  for (const Precision precision : kLow) {
    Session session(graph, {.precision = precision});
    session.initialize();
    const Array alone = session.run(g, feeds), with = session.run({product, g}, feeds)[1];
    EXPECT_TRUE(equal(alone, with));
  }
}

// How often training says that bf16 is emulated, in two epochs on two devices with a thread each.
int warnings_of(Precision precision) {
  int seen = 0;
  const LogRedirect log(
      [&](LogLevel, std::string_view text) {
        if (!contains(text, "bf16")) return;
        ++seen;
        EXPECT_TRUE(contains(text, "[Session] bf16 products are " + bf16_support().reason)) << text;
        EXPECT_TRUE(contains(text, "Use Precision::f32 for speed")) << text;
      },
      LogLevel::warning);
  Graph graph;
  const GraphScope scope(graph);
  AsyncMultiDeviceTrainer trainer(cpu_devices(2));  // whose second tower has a session of its own
  const auto cost = [](const Inputs& in) { return reduce_sum(square(fully_connected("fc", {.units = 2})(in["x"]))); };
  trainer.setup_graph({{"x", f32, {4, 3}}}, DummyConstantInput(), cost, [] { return sgd({.learning_rate = 0.01f}); });
  trainer.train(
      {.session_config = {.devices = {{1}, {1}}, .precision = precision}, .steps_per_epoch = 2, .max_epoch = 2});
  return seen;
}

TEST(MixedPrecision, TrainingSaysOnceThatBf16IsEmulated) {
  EXPECT_EQ(warnings_of(Precision::bf16), bf16_support().tiles ? 0 : 1);
  EXPECT_EQ(warnings_of(Precision::bf16_emulated), 0) << "it was asked for";
  EXPECT_EQ(warnings_of(Precision::f32), 0);
}

}  // namespace
}  // namespace belfry
