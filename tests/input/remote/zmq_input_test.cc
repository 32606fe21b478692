// ZMQInput: a training whose points another thread sends, as another process would.
#include "belfry/input/remote/zmq_input.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/input/input_testing.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"

namespace belfry {
namespace {

using testing_support::counting;
using testing_support::kSignature;
using testing_support::Values;
using testing_support::Watch;

class ZMQInputTest : public testing_support::InputTest {
 protected:
  ~ZMQInputTest() override {
    stop_ = true;
    if (sender_.joinable()) sender_.join();
  }
  void send(const Flow& flow, std::int64_t passes = kForever) {
    sender_ = std::thread([this, flow, passes] {
      error_of([&] { send_points(flow, address, {.passes = passes, .stop = [this] { return stop_.load(); }}); });
    });
  }

  const testing_support::TempDir dir_;
  const std::string address = "ipc://" + (dir_ / "socket");

 private:
  std::atomic<bool> stop_ = false;
  std::thread sender_;
};

TEST_F(ZMQInputTest, TrainsOnWhatIsSentPassAfterPass) {
  send(counting(3));
  EXPECT_EQ(run(ZMQInput(address), 7), (Values{1, 2, 3, 1, 2, 3, 1}));
}

TEST_F(ZMQInputTest, APassThatEndsEndsAFiniteTraining) {
  send(counting(3), 1);
  std::string reason;
  EXPECT_EQ(run(ZMQInput(address, {}, {.infinite = false}), 9, 1, &reason), (Values{1, 2, 3}));
  EXPECT_TRUE(contains(reason, "the end of the data")) << reason;
}

TEST_F(ZMQInputTest, RefillingTheQueueLosesNothing) {
  send(counting(1000));
  ZMQInput input(address, {}, {.capacity = 5});
  Trainer trainer;
  trainer.register_callbacks(input.setup(kSignature));
  const Tensor x = input.get_input_tensors()[0];
  trainer.train_op = Operation(x.node());
  Values seen;
  trainer.train(
      {.callbacks = {Watch({x}, seen), CallbackFactory({.before_epoch = [&](Trainer&) { input.refill_queue(); }})},
       .steps_per_epoch = 3,
       .max_epoch = 3});
  EXPECT_EQ(seen, (Values{1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST_F(ZMQInputTest, AResumedTrainingCountsOnAndTakesWhatComes) {
  send(counting(1000));
  const std::string saved =
      R"({"flow":"repeat","times":0,"epoch":0,"round":4,"from":[{"flow":"remote","epoch":4,"position":7,"events":99,"phase":0}]})";
  EXPECT_EQ(run(ZMQInput(address), 2, 1, nullptr, saved), (Values{1, 2}));
  const FlowState after = flow_state_from_string(position).from[0];
  EXPECT_EQ(after.at("position"), 9u);
  EXPECT_EQ(after.at("epoch"), 4u);
}

TEST_F(ZMQInputTest, ARequestToStopEndsAStepThatNobodySendsFor) {
  const InputSourcePtr input = ZMQInput(address);
  Trainer trainer;
  trainer.register_callbacks(input->setup(kSignature));
  trainer.train_op = Operation(input->get_input_tensors()[0].node());
  std::thread other;
  const auto ask = [&](Trainer& t) { other = std::thread([&t] { t.request_stop("waited enough"); }); };
  EXPECT_EQ(
      trainer.train({.callbacks = {CallbackFactory({.before_epoch = ask})}, .steps_per_epoch = 1, .max_epoch = 1}),
      "waited enough");
  other.join();
}

TEST_F(ZMQInputTest, PointsThatDoNotFitNameTheInput) {
  send(from_list({{Array(1)}}));
  EXPECT_TRUE(error_of([&] { run(ZMQInput(address), 1); }).starts_with("[ZMQInput] input 'x' expects f32 []"));
}

}  // namespace
}  // namespace belfry
