// Errors name lines of the user's source, not of the library's.
#include <gtest/gtest.h>

#include <memory>

#include "belfry/dataflow/sources/list.h"
#include "belfry/input/flow_inputs.h"
#include "belfry/nn/layers.h"
#include "belfry/ops/gather.h"
#include "belfry/ops/pointwise.h"
#include "belfry/ops/reduce.h"
#include "belfry/train/async_trainer.h"
#include "belfry/train/trainers.h"
#include "tests/session/session_testing.h"

namespace belfry {
namespace {

template <class Trainer>
std::unique_ptr<Trainer> make_trainer() {
  if constexpr (std::is_same_v<Trainer, SimpleTrainer>)
    return std::make_unique<Trainer>();
  else
    return std::make_unique<Trainer>(cpu_devices(2));
}

template <class Trainer>
class MadeAtTest : public testing_support::GraphTest {
 protected:
  std::unique_ptr<Trainer> trainer = make_trainer<Trainer>();
  unsigned setup_line = 0, square_line = 0;

  void SetUp() override {
    const auto cost = [this](const Inputs& in) {
      const Tensor y = in["x"] | fully_connected("fc", {.units = 1});
      square_line = __LINE__ + 1;
      return reduce_mean(square(y), "cost") + reduce_mean(y);
    };
    setup_line = __LINE__ + 1;
    trainer->setup_graph({{"x", f32, {kAny, 2}}}, QueueInput(from_list({{Array::zeros(f32, {1, 2})}})), cost,
                         [] { return adam({.learning_rate = 0.1f}); });
  }
};

using Trainers = testing::Types<SimpleTrainer, SyncMultiDeviceTrainerParameterServer, SyncMultiDeviceTrainerReplicated,
                                AsyncMultiDeviceTrainer>;
TYPED_TEST_SUITE(MadeAtTest, Trainers);

TYPED_TEST(MadeAtTest, GradientsHaveTheLineOfTheirForwardOpAndUpdatesThatOfTheSetup) {
  int of_square = 0, of_setup = 0;
  for (const auto& node : this->trainer->graph().nodes()) {
    const std::string_view file = node->where.file_name();
    EXPECT_FALSE(contains(file, "belfry/train/") || contains(file, "belfry/graph/") || contains(file, "belfry/nn/"))
        << node->name << " " << made_at(*node);
    if (!file.ends_with("made_at_test.cc")) continue;
    if (contains(node->name, "gradients/")) of_square += node->where.line() == this->square_line;
    of_setup += node->where.line() == this->setup_line;
  }
  EXPECT_GT(of_square, 0);
  EXPECT_GT(of_setup, 0);
}

TYPED_TEST(MadeAtTest, APlaceInTheStandardLibraryIsNotNamed) {
  const std::string text = error_of([] { std::make_unique<SyncMultiDeviceTrainerReplicated>(Devices{0, 0}); });
  EXPECT_EQ(text, "[trainer] expected each device once, got cpu:0 twice (at an unknown line).");
}

}  // namespace
}  // namespace belfry
