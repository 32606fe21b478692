// What goes wrong in one tower of several reaches the caller as it is, and nothing hangs.
#include <gtest/gtest.h>

#include "belfry/dataflow/map.h"
#include "belfry/dataflow/sources/list.h"
#include "belfry/input/flow_inputs.h"
#include "belfry/input/graph_inputs.h"
#include "belfry/loop/run_op.h"
#include "belfry/ops/check_numerics.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "belfry/train/trainers.h"
#include "tests/session/session_testing.h"

namespace belfry {
namespace {

// 1, 2, ..., n, each a vector of one.
Flow counting(int n) {
  std::vector<DataPoint> points;
  for (int i = 1; i <= n; ++i) points.push_back({Array::full(f32, {1}, i)});
  return from_list(std::move(points));
}

// Not finite where x is 6: the second tower's point in the third step.
Tensor tower_cost(const Inputs& in) {
  const Tensor w = get_variable("w", {.initializer = [](const Shape&, DType) { return constant(1.f); }});
  return reduce_mean(square(check_numerics(in["x"] * w / (in["x"] - 6.f), "the cost")), "cost");
}

template <class Trainer>
class TowerErrorsTest : public testing_support::GraphTest {
 protected:
  Trainer trainer{cpu_devices(2)};
  int after_trains = 0;
  void run(InputSourcePtr input) {
    trainer.setup_graph({{"x", f32, {kAny}}}, std::move(input), tower_cost, [] { return sgd({.learning_rate = 0.f}); });
    trainer.train({.callbacks = {CallbackFactory({.after_train = [this](belfry::Trainer&) { ++after_trains; }})},
                   .session_config = {.devices = {{1}, {1}}},
                   .steps_per_epoch = 10,
                   .max_epoch = 1});
  }
};

using Trainers = testing::Types<SyncMultiDeviceTrainerParameterServer, SyncMultiDeviceTrainerReplicated>;
TYPED_TEST_SUITE(TowerErrorsTest, Trainers);

TYPED_TEST(TowerErrorsTest, AnErrorInATowersKernelReachesTheCaller) {
  const std::string text = error_of<NumericError>([&] { this->run(StagingInput(QueueInput(counting(20)))); });
  EXPECT_TRUE(contains(text, "the cost")) << text;
  EXPECT_TRUE(contains(text, "tower1/")) << text;
  EXPECT_EQ(this->trainer.global_step(), 2);
  EXPECT_EQ(this->after_trains, 1);
}

TYPED_TEST(TowerErrorsTest, AnErrorInTheDataReachesTheCaller) {
  const Flow broken = counting(20) | map([](DataPoint point) {
                        if (point[0].item() == 4) throw std::out_of_range("the user's own type");
                        return point;
                      });
  try {
    this->run(QueueInput(broken));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "[map] the function of 'list | map' failed at point 3 of epoch 0: the user's own type");
    EXPECT_THROW(std::rethrow_if_nested(e), std::out_of_range);
  }
  EXPECT_EQ(this->trainer.global_step(), 1);
  EXPECT_EQ(this->after_trains, 1);
}

TYPED_TEST(TowerErrorsTest, TheEndOfTheDataIsAnEndForAllTowers) {
  this->run(QueueInput(counting(5), {.infinite = false}));
  EXPECT_EQ(this->trainer.global_step(), 2);  // the fifth point has no partner
  EXPECT_EQ(this->after_trains, 1);
}

}  // namespace
}  // namespace belfry
