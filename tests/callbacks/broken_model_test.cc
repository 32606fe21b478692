// A model with NaN or infinity in it is not saved, and no good checkpoint goes for it.
#include <gtest/gtest.h>

#include <limits>

#include "belfry/callbacks/model_saver.h"
#include "belfry/session/checkpoint.h"
#include "tests/callbacks/callbacks_testing.h"

namespace belfry {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class BrokenModelTest : public testing_support::CallbacksTest {
 protected:
  Variable weights = var("fc/W", Array::zeros(f32, {2}), true);
  Variable slot = var("fc/W/Adam/v", Array::zeros(f32, {2}));
  Variable mask = var("mask", Array::full(f32, {2}, -kInfinity));
  Trainer trainer;

  // Sets the variable's second value when the second epoch begins. Savers keep one checkpoint.
  std::string log_of(const Variable& variable, float value, ModelSaverOptions options = {.keep = 1}) {
    const testing_support::LogLines log;
    run(trainer, {CallbackFactory({.before_epoch =
                                       [&](Trainer& t) {
                                         if (t.epoch_num() == 2)
                                           t.session().set_value(variable, Array::of<float>({2}, {0, value}));
                                       },
                                   .trigger_epoch = [](Trainer& t) { t.monitors().put_scalar("e", -t.epoch_num()); }}),
                  ModelSaver(options), MinSaver("e")});
    return log.text;
  }
  std::int64_t saved() const { return load_checkpoint(directory).state.step; }
  bool best_is(int step) const {
    return std::filesystem::exists(directory + "/min-e-" + std::to_string(step) + ".safetensors");
  }
};

TEST_F(BrokenModelTest, InfiniteWeightsAreNotSaved) {
  const std::string log = log_of(weights, kInfinity);
  EXPECT_TRUE(
      contains(log, "[ModelSaver] nothing is saved, and existing checkpoints stay: 'fc/W' (infinity) is not finite."))
      << log;
  EXPECT_TRUE(contains(log, "[MinSaver] nothing is saved")) << log;
  EXPECT_EQ(saved(), 2);
  EXPECT_TRUE(best_is(2));
}

TEST_F(BrokenModelTest, InfiniteSlotsAreNotSaved) {
  EXPECT_TRUE(contains(log_of(slot, kInfinity), "'fc/W/Adam/v' (infinity) is not finite."));
  EXPECT_EQ(saved(), 2);
}

TEST_F(BrokenModelTest, NaNIsNotSavedWhereverItIs) {
  EXPECT_TRUE(contains(log_of(mask, std::numeric_limits<float>::quiet_NaN()), "'mask' (NaN) is not finite."));
  EXPECT_EQ(saved(), 2);
}

TEST_F(BrokenModelTest, AnInfinityThatIsMeantIsSaved) {
  EXPECT_EQ(log_of(mask, -kInfinity), "");
  EXPECT_EQ(saved(), 6);
  EXPECT_TRUE(best_is(6));
}

TEST_F(BrokenModelTest, ABrokenModelIsSavedIfAskedFor) {
  log_of(weights, kInfinity, {.keep = 1, .save_broken = true});
  EXPECT_EQ(saved(), 6);
}

}  // namespace
}  // namespace belfry
