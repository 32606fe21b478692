// Trainers and callbacks on devices of another kind than "cpu".
#include <gtest/gtest.h>

#include "belfry/callbacks/inference_runner.h"
#include "belfry/nn/initializers.h"
#include "belfry/nn/layers.h"
#include "belfry/ops/reduce.h"
#include "belfry/ops/softmax.h"
#include "belfry/session/session.h"
#include "tests/session/session_testing.h"
#include "tests/train/train_testing.h"

namespace belfry {
namespace {

// A training of three steps with a pass of inference, and a prediction after it.
struct Outcome {
  double validation = 0;
  Array predicted{};
  std::vector<std::string> devices{};
};

Outcome train_on(const DeviceConfig& device) {
  Graph graph;
  const GraphScope scope(graph);
  SimpleTrainer trainer;
  trainer.setup_graph(
      kSignature, QueueInput(points(64) | batch(8)),
      [](const Inputs& in) {
        const Tensor logits = in["x"] | fully_connected("fc", {.units = 2, .kernel_initializer = init::constant(0.25)});
        return reduce_mean(sparse_softmax_cross_entropy(logits, in["label"]), "cost");
      },
      make_momentum);
  const OnlinePredictor predict = trainer.get_predictor({"x"}, {"fc/output"});
  trainer.train({.callbacks = {InferenceRunner(points(16) | batch(8), {ScalarStats("cost")})},
                 .session_config = {.devices = {device}},
                 .steps_per_epoch = 3,
                 .max_epoch = 1});
  return {.validation = trainer.monitors().latest("validation_cost").value_or(0),
          .predicted = predict({(points(8) | batch(8)).next()->at(0)})[0],
          .devices = trainer.session().device_texts()};
}

TEST(DeviceKindsTest, WithoutADeviceATrainerIsOnTheFirstOneOfTheSessionWhateverItsKind) {
  const Outcome far = train_on({.kind = "test"}), here = train_on({.threads = 1});
  EXPECT_EQ(far.devices, (std::vector<std::string>{"test:0 (1 thread)"}));
  EXPECT_GT(here.validation, 0);
  EXPECT_NEAR(far.validation, here.validation, 1e-5);
  for (std::int64_t i = 0; i < here.predicted.elements(); ++i)
    EXPECT_NEAR(far.predicted.item(i), here.predicted.item(i), 1e-5) << i;
}

TEST(DeviceKindsTest, AnUnknownKindListsThoseThereAre) {
  EXPECT_TRUE(contains(error_of([] { train_on({.kind = "gpu"}); }),
                       "[Session] expected a kind of device that this program has, got \"gpu\". It has: cpu, test"));
  Graph graph;
  const GraphScope scope(graph);
  SyncMultiDeviceTrainerParameterServer trainer(cpu_devices(1));
  trainer.setup_callbacks({});
  EXPECT_TRUE(contains(error_of([&] { trainer.initialize({.devices = {{.kind = "gpu"}}}); }), "It has: cpu, test"));
}

TEST(DeviceKindsTest, ADeviceThatIsNamedMustBeInTheSession) {
  Graph graph;
  const GraphScope scope(graph);
  SyncMultiDeviceTrainerParameterServer trainer({Device("test:0")});
  trainer.setup_callbacks({});
  EXPECT_TRUE(contains(error_of([&] { trainer.initialize({.devices = {{.threads = 1}}}); }),
                       "[trainer] expected a session with devices test:0 to test:0, got 0"));
}

}  // namespace
}  // namespace belfry
