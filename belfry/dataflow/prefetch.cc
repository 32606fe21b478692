#include "belfry/dataflow/prefetch.h"

#include <atomic>
#include <exception>

#include "belfry/base/check.h"
#include "belfry/base/internal/start_thread.h"
#include "belfry/base/queue.h"
#include "belfry/dataflow/internal/flow_checks.h"
#include "belfry/dataflow/internal/rethrow.h"
#include "belfry/dataflow/stage_flow.h"

namespace belfry {
namespace {

class PrefetchFlow final : public StageFlow {
 public:
  PrefetchFlow(Flow source, int depth)
      : StageFlow(std::move(source), "prefetch", fmt::format("prefetch({})", depth)),
        size_(StageFlow::size()),
        epoch_(StageFlow::epoch()),
        consumed_(StageFlow::state()),
        queue_(static_cast<std::size_t>(depth)) {}
  ~PrefetchFlow() override { stop(); }

  void start_epoch(std::uint64_t epoch) override {
    stop();
    StageFlow::start_epoch(epoch);
    make_ready();
  }

  void restore(const FlowState& state) override {
    stop();
    StageFlow::restore(state);
    make_ready();
  }

  std::optional<DataPoint> next() override {
    check_goes_on(pass_ != Pass::failed, kind());
    if (pass_ == Pass::finished) return std::nullopt;
    if (pass_ == Pass::ready) {
      worker_ended_ = false;
      worker_ = start_thread([this] { read_ahead(); });
      pass_ = Pass::running;
    }
    std::optional<Made> made = take();
    if (!made) {
      pass_ = queue_.cancelled() ? Pass::failed : Pass::finished;
      BELFRY_CHECK_AS(Cancelled, pass_ == Pass::finished,
                      "[prefetch] expected a point of '{}', but the flow was cancelled.", describe());
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
  enum class Pass { ready, running, finished, failed };
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

  std::optional<Made> take() {
    try {
      return queue_.pop();
    } catch (...) {
      pass_ = Pass::failed;
      rethrow_from(std::current_exception(),
                   fmt::format("[prefetch] the flow '{}' failed", StageFlow::source().describe()));
    }
  }

  void stop() {
    if (worker_.joinable()) {
      if (!worker_ended_) cancel();  // one that has ended needs no help, and the source is spared the interruption
      worker_.join();
    }
    pass_ = Pass::failed;  // until the source stands somewhere again
  }

  void make_ready() {
    queue_.reopen();
    consumed_ = StageFlow::state();
    epoch_ = StageFlow::epoch();
    pass_ = Pass::ready;
  }

  // The queue has a lock of its own. The rest is the consumer's; the source is the worker's while that runs, and
  // starting and joining it hand the source over. So what is asked of the source is kept here.
  const std::optional<std::int64_t> size_;
  std::uint64_t epoch_ = 0;
  FlowState consumed_;  // after the last point consumed
  Pass pass_ = Pass::ready;
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
