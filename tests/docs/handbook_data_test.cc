// The handbook's code on data: ./dev docs checks that every block there stands here word for word.
#include <belfry/belfry.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace bf = belfry;

namespace {

class Readings final : public bf::DataFlow {  // what another thread measures; a pass has no end
 public:
  void put(float value) {
    const std::lock_guard lock(mutex_);
    values_.push_back(value);
    changed_.notify_one();
  }

  void start_epoch(std::uint64_t epoch) override { go_to(epoch, 0); }
  std::optional<bf::DataPoint> next() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return cancelled_ || taken_ < values_.size(); });
    if (cancelled_) throw bf::Cancelled("[Readings] the wait for a value was cancelled");
    return bf::DataPoint{bf::Array(values_[taken_++])};
  }
  std::uint64_t epoch() const override { return epoch_; }
  std::optional<std::int64_t> size() const override { return std::nullopt; }  // not known

  // From another thread: whoever waits in next() returns from it. Without this, Ctrl-C waits as long as next() does.
  void cancel() override {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    changed_.notify_all();
  }

  bf::FlowState state() const override { return {"readings", {{"epoch", epoch_}, {"taken", taken_}}, {}}; }
  void restore(const bf::FlowState& state) override {
    state.expect("readings", 0);
    go_to(state.at("epoch"), state.at("taken"));
  }
  std::string describe() const override { return "readings"; }  // for messages

 private:
  void go_to(std::uint64_t epoch, std::uint64_t taken) {
    const std::lock_guard lock(mutex_);
    epoch_ = epoch;
    taken_ = taken;
    cancelled_ = false;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<float> values_;
  std::uint64_t epoch_ = 0, taken_ = 0;
  bool cancelled_ = false;
};

}  // namespace

// The third step waits for a reading that never comes.
TEST(HandbookData, AFlowOfYourOwn) {
  const auto readings = std::make_shared<Readings>();
  readings->put(1);
  readings->put(2);
  bf::Trainer trainer;
  const bf::InputSourcePtr input = bf::QueueInput(readings);
  trainer.register_callbacks(input->setup({{"value", bf::f32, {}}}));
  trainer.train_op = bf::Operation(input->get_input_tensors()[0].node());
  std::thread stop;
  const auto at_two = [&](bf::Trainer& t) {
    if (t.global_step() == 2) stop = std::thread([&] { t.request_stop("enough"); });
  };
  EXPECT_EQ(trainer.train(
                {.callbacks = {bf::CallbackFactory({.trigger_step = at_two})}, .steps_per_epoch = 100, .max_epoch = 1}),
            "enough");
  stop.join();
  EXPECT_EQ(trainer.global_step(), 2);

  const bf::FlowState start = {"readings", {{"epoch", 0}, {"taken", 1}}, {}};
  readings->restore(start);
  EXPECT_EQ(readings->state(), start);
  EXPECT_EQ((*readings->next())[0].item(), 2);
}

TEST(HandbookData, DataFlow) {
  std::vector<bf::DataPoint> points;
  for (int i = 0; i < 10; ++i) points.push_back({bf::Array(static_cast<float>(i)), bf::Array(i % 2)});
  bf::Flow flow = bf::from_list(points) | bf::shuffle(7) | bf::batch(4, bf::Remainder::keep) | bf::prefetch(2);
  const auto first = flow->next();  // two arrays: f32 [4] and i32 [4]
  const bf::FlowState position = flow->state();
  const auto second = flow->next();
  flow->restore(position);  // exactly where it was: after the first point
  EXPECT_TRUE(bf::equal((*flow->next())[0], (*second)[0]));
  EXPECT_EQ((*first)[0].shape(), bf::Shape({4}));
}
