// Rule 2 of tower functions: a trainable variable is one that the cost depends on.
#include "belfry/nn/layers.h"
#include "belfry/ops/reduce.h"
#include "tests/session/session_testing.h"
#include "tests/train/train_testing.h"

namespace belfry {
namespace {

using testing_support::LogLines;

Tensor cost_with_unused(const Inputs& in) {
  in["x"] | fully_connected("unused", {.units = 2});
  return reduce_mean(in["x"] | fully_connected("used", {.units = 1}), "cost");
}

const char* const kComplaint =
    "[setup_graph] expected a cost that depends on every trainable variable (rule 2), got no gradient for 'unused/W', "
    "'unused/b' (at require_gradients_test.cc:";

template <class T, class... Args>
std::string set_up(bool required, Args&&... args) {
  Graph graph;
  const GraphScope scope(graph);
  T trainer(std::forward<Args>(args)...);
  trainer.require_gradients = required;
  return error_of(
      [&] { trainer.setup_graph(kSignature, QueueInput(points(8) | batch(2)), cost_with_unused, make_momentum); });
}

TEST(RequireGradientsTest, WithoutItAVariableWithoutAGradientIsAWarning) {
  LogLines log;
  EXPECT_EQ(set_up<SimpleTrainer>(false), "no error");
  EXPECT_TRUE(contains(log.text, "no gradient for 'unused/W', 'unused/b'")) << log.text;
}

TEST(RequireGradientsTest, WithItTheVariableIsAnErrorUnderEveryTrainer) {
  EXPECT_TRUE(contains(set_up<SimpleTrainer>(true), kComplaint));
  EXPECT_TRUE(contains(set_up<SyncMultiDeviceTrainerParameterServer>(true, cpu_devices(2)), kComplaint));
  EXPECT_TRUE(contains(set_up<SyncMultiDeviceTrainerReplicated>(true, cpu_devices(2)), kComplaint));
}

TEST(RequireGradientsTest, ACostThatUsesAllTrainsAsEver) {
  Graph graph;
  const GraphScope scope(graph);
  SimpleTrainer trainer;
  trainer.require_gradients = true;
  const auto cost = [](const Inputs& in) { return reduce_mean(in["x"] | fully_connected("used", {.units = 1})); };
  trainer.setup_graph(kSignature, QueueInput(points(8) | batch(2)), cost, make_momentum);
  trainer.train({.steps_per_epoch = 2, .max_epoch = 1});
  EXPECT_EQ(trainer.global_step(), 2);
}

}  // namespace
}  // namespace belfry
