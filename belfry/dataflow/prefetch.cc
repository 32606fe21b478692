#include "belfry/dataflow/prefetch.h"

#include <atomic>
#include <exception>

#include "belfry/base/check.h"
#include "belfry/base/internal/start_thread.h"
#include "belfry/base/queue.h"
#include "belfry/dataflow/internal/pass_guard.h"
#include "belfry/dataflow/internal/rethrow.h"
#include "belfry/dataflow/stage_flow.h"

namespace belfry {
namespace {

class PrefetchFlow final : public StageFlow {
 public:
  PrefetchFlow(Flow source, int depth)
      : StageFlow(std::move(source), "prefetch", fmt::format("prefetch({})", depth), SamePoints{}),
        size_(StageFlow::size()),
        epoch_(StageFlow::epoch()),
        consumed_(StageFlow::state()),
        queue_(static_cast<std::size_t>(depth)) {}
  ~PrefetchFlow() override { stop(); }

  void start_epoch(std::uint64_t epoch) override {
    restart([&] { StageFlow::start_epoch(epoch); });
  }

  void restore(const FlowState& state) override {
    restart([&] { StageFlow::restore(state); });
  }

  std::optional<DataPoint> next() override {
    pass_.check(kind());
    if (phase_ == Phase::finished) return std::nullopt;
    if (phase_ == Phase::ready) {
      worker_ended_ = false;
      worker_ = start_thread([this] { read_ahead(); });
      phase_ = Phase::running;
    }
    std::optional<Made> made = pass_.reading(kind(), [this] { return take(); });
    if (!made) {
      phase_ = Phase::finished;
      return std::nullopt;
    }
    consumed_ = std::move(made->state);
    return std::move(made->point);
  }

  std::uint64_t epoch() const override { return epoch_; }
  std::optional<std::int64_t> size() const override { return size_; }
  FlowState state() const override { return consumed_; }

  void cancel() override {
    queue_.cancel();
    StageFlow::cancel();
  }

 private:
  enum class Phase { ready, running, finished };
  struct Made {
    DataPoint point;
    FlowState state;  // ours, once the point is consumed
  };

  // The worker. While it runs, nobody else touches the source, except to cancel it.
  void read_ahead() {
    std::exception_ptr error;
    try {
      while (std::optional<DataPoint> point = source().next())
        if (!queue_.push({std::move(*point), StageFlow::state()})) break;
    } catch (...) {
      error = std::current_exception();
    }
    worker_ended_ = true;
    queue_.close(std::move(error));  // after the handler: see close()
  }

  // Nothing at the end of the pass.
  std::optional<Made> take() {
    std::optional<Made> made = pop();
    BELFRY_CHECK_AS(Cancelled, made || !queue_.cancelled(),
                    "[prefetch] expected a point of '{}', but the flow was cancelled.", describe());
    return made;
  }

  std::optional<Made> pop() {
    try {
      return queue_.pop();
    } catch (...) {
      rethrow_from(std::current_exception(),
                   fmt::format("[prefetch] the flow '{}' failed", StageFlow::source().describe()));
    }
  }

  // `place` takes the source where the next points come from.
  template <class Place>
  void restart(const Place& place) {
    pass_.begin([&] {
      stop();
      place();
      queue_.reopen();
      consumed_ = StageFlow::state();
      epoch_ = StageFlow::epoch();
      phase_ = Phase::ready;
    });
  }

  void stop() {
    if (!worker_.joinable()) return;
    if (!worker_ended_) cancel();  // one that has ended needs no help, and the source is spared the interruption
    worker_.join();
  }

  // The queue has a lock of its own. The rest is the consumer's; the source is the worker's while that runs, and
  // starting and joining it hand the source over. So what is asked of the source is kept here.
  const std::optional<std::int64_t> size_;
  std::uint64_t epoch_ = 0;
  FlowState consumed_;  // after the last point consumed
  Phase phase_ = Phase::ready;
  PassGuard pass_;
  BoundedQueue<Made> queue_;
  std::atomic<bool> worker_ended_ = false;  // it does not touch the source any more
  std::thread worker_;
};

}  // namespace

FlowStage prefetch(int depth) {
  BELFRY_CHECK(depth >= 1, "[prefetch] expected a depth of at least 1 point, got {}.", depth);
  return FlowStage([=](Flow source) { return std::make_shared<PrefetchFlow>(std::move(source), depth); });
}

}  // namespace belfry
