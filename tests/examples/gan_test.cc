// The trainers of examples/gan, with two players small enough to compare weights.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "examples/gan/gan_trainers.h"
#include "tests/session/session_testing.h"
#include "tests/support/errors.h"

namespace belfry {
namespace {

// No batch norm, and the noise comes with the data: N towers see what one tower with N times the batch does.
class SmallGAN final : public GANModelDesc {
 public:
  std::vector<TensorSpec> inputs() const override { return {{"x", f32, {kAny, 4}}, {"z", f32, {kAny, 3}}}; }

  Tensors build_graph(const Inputs& in) override {
    const auto generator = [](const Tensor& z) {
      const VariableScope scope("gen");
      return z | fully_connected("fc0", {.units = 8, .activation = relu}) | fully_connected("fc1", {.units = 4});
    };
    const auto discriminator = [](const Tensor& x, const VariableScopeOptions& options) {
      const VariableScope scope("discrim", options);
      return x | fully_connected("fc0", {.units = 8, .activation = leaky_relu}) | fully_connected("fc1", {.units = 1});
    };
    const Tensor real = discriminator(in["x"], {}), made = generator(in["z"]);
    return build_losses(real, discriminator(made, {.reuse = Reuse::yes}));
  }

  std::unique_ptr<Optimizer> optimizer() override { return momentum({.learning_rate = 0.05f}); }
};

Flow points() {
  RandomStream random(7);
  std::vector<DataPoint> out;
  for (int i = 0; i < 64; ++i) {
    out.push_back({Array(f32, {4}), Array(f32, {3})});
    for (Array& part : out.back())
      for (float& value : part.values<float>()) value = static_cast<float>(random.normal());
  }
  return from_list(std::move(out));
}

using Weights = std::map<std::string, Array>;

struct Trained {
  Weights before, after;
  std::int64_t global_step = 0;
  double d_loss = 0, g_loss = 0;  // of the last step
};

template <class T, class... Args>
Trained train(std::int64_t batch_size, std::int64_t steps, Args&&... args) {
  Graph graph;
  const GraphScope scope(graph);
  SmallGAN model;
  T trainer(QueueInput(points() | batch(batch_size)), model, std::forward<Args>(args)...);
  const auto weights = [&] {
    Weights out;
    for (const Variable& v : graph.collections().variables(collection::kTrainableVariables))
      out.emplace(v.name(), trainer.session().value(v));
    return out;
  };
  Trained out;
  trainer.train({.callbacks = {CallbackFactory({.before_train = [&](Trainer&) { out.before = weights(); }}),
                               MovingAverageSummary({.decay = 0})},
                 .session_config = {.devices = {{1}, {1}}},
                 .steps_per_epoch = steps,
                 .max_epoch = 1});
  out.after = weights();
  out.global_step = trainer.global_step();
  out.d_loss = trainer.monitors().latest("d_loss").value_or(NAN);
  out.g_loss = trainer.monitors().latest("g_loss").value_or(NAN);
  return out;
}

bool moved(const Trained& run, std::string_view player) {
  return std::ranges::all_of(run.after, [&](const auto& item) {
    return !item.first.starts_with(player) || !equal(item.second, run.before.at(item.first));
  });
}

void expect_trained(const Trained& run, const Trained& again) {
  ASSERT_EQ(run.after.size(), 8u);
  EXPECT_TRUE(moved(run, "gen/"));
  EXPECT_TRUE(moved(run, "discrim/"));
  EXPECT_TRUE(std::isfinite(run.d_loss) && std::isfinite(run.g_loss)) << run.d_loss << " " << run.g_loss;
  for (const auto& [name, value] : run.after) EXPECT_TRUE(equal(value, again.after.at(name))) << name;
}

TEST(GANTest, EveryTrainerMovesBothPlayersAndGivesTheSameBitsTwice) {
  expect_trained(train<GANTrainer>(8, 20), train<GANTrainer>(8, 20));
  const SeparateGANTrainer::Periods periods{.d = 1, .g = 2};
  expect_trained(train<SeparateGANTrainer>(8, 20, periods), train<SeparateGANTrainer>(8, 20, periods));
  expect_trained(train<MultiDeviceGANTrainer>(8, 20, cpu_devices(2)),
                 train<MultiDeviceGANTrainer>(8, 20, cpu_devices(2)));
}

TEST(GANTest, NTowersAreOneTowerWithNTimesTheBatch) {
  const Trained one = train<GANTrainer>(16, 20), two = train<MultiDeviceGANTrainer>(8, 20, cpu_devices(2));
  for (const auto& [name, value] : one.after)
    for (std::int64_t i = 0; i < value.elements(); ++i)
      EXPECT_NEAR(value.item(i), two.after.at(name).item(i), 1e-4 * (std::abs(value.item(i)) + 0.01))
          << name << " " << i;
}

TEST(GANTest, TurnsGoByIterationsAndHookedRunsAreCounted) {
  EXPECT_EQ(train<GANTrainer>(8, 12).global_step, 12);
  EXPECT_EQ(train<SeparateGANTrainer>(8, 12, SeparateGANTrainer::Periods{.d = 2, .g = 3}).global_step, 6 + 4);
  // Both have their first turn in the first step. From then on one player rests.
  const Trained first = train<SeparateGANTrainer>(8, 1, SeparateGANTrainer::Periods{.d = 1, .g = 1});
  const Trained d_only = train<SeparateGANTrainer>(8, 5, SeparateGANTrainer::Periods{.d = 1, .g = 100});
  EXPECT_EQ(d_only.global_step, 6);
  for (const auto& [name, value] : d_only.after)
    EXPECT_EQ(equal(value, first.after.at(name)), name.starts_with("gen/")) << name;
}

// One forward pass serves both: after one step the generator is what it becomes against the first discriminator.
TEST(GANTest, TheJointTrainerUsesTheWeightsThatTheRunBeganWith) {
  const Trained joint = train<GANTrainer>(64, 1);
  Graph graph;
  const GraphScope scope(graph);
  SmallGAN model;
  InputSourcePtr input = QueueInput(points() | batch(64));
  Trainer trainer;
  trainer.register_callbacks(input->setup(model.inputs()));
  {
    const TrainTowerContext tower("");
    const Tensors losses = model.build_graph(Inputs(model.inputs(), input->get_input_tensors()));
    trainer.train_op = model.optimizer()->minimize(losses[1], model.g_vars(tower));
  }
  trainer.train({.session_config = {.devices = {{1}}}, .steps_per_epoch = 1, .max_epoch = 1});
  for (const auto& [name, value] : joint.after) {
    const bool same = equal(value, trainer.session().value(graph.get_variable_by_name(name)));
    EXPECT_EQ(same, name.starts_with("gen/")) << name;
  }
}

// The error of training on points of which the fourth is NaN for the discriminator.
template <class T, class... Args>
std::string error_of_bad_point(Args&&... args) {
  Graph graph;
  const GraphScope scope(graph);
  SmallGAN model;
  std::vector<DataPoint> out;
  for (const double x : {1., 1., 1., std::nan("")})
    out.push_back({Array::full(f32, {1, 4}, x), Array::full(f32, {1, 3}, 1)});
  T trainer(QueueInput(from_list(std::move(out))), model, std::forward<Args>(args)...);
  return error_of<NumericError>(
      [&] { trainer.train({.session_config = {.devices = {{1}, {1}}}, .steps_per_epoch = 5, .max_epoch = 1}); });
}

TEST(GANTest, ALossThatIsNotFiniteEndsEveryTrainer) {
  const auto expect = [](const std::string& text, std::string_view first) {
    EXPECT_TRUE(contains(text, fmt::format("[CostGuard] expected finite costs, got nan for {}, and", first))) << text;
  };
  expect(error_of_bad_point<GANTrainer>(), "'d_loss' at step 4");
  // Two runs in the first step, one in the second; the fourth is the discriminator's of the third.
  expect(error_of_bad_point<SeparateGANTrainer>(SeparateGANTrainer::Periods{.d = 1, .g = 2}), "'d_loss' at step 4");
  expect(error_of_bad_point<MultiDeviceGANTrainer>(cpu_devices(2)), "'tower1/d_loss' at step 2");
}

}  // namespace
}  // namespace belfry
