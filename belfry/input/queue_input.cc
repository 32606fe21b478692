#include <atomic>
#include <memory>
#include <utility>

#include "belfry/base/check.h"
#include "belfry/base/internal/start_thread.h"
#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/claimed_flow.h"
#include "belfry/dataflow/repeat.h"
#include "belfry/input/flow_inputs.h"
#include "belfry/loop/trainer.h"
#include "belfry/nn/summary.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/queue.h"

namespace belfry {

// The thread that fills a queue, and the runs' position in the flow.
struct QueueInput::State {
  State(Flow f, std::optional<std::int64_t> s, QueueInputOptions o)
      : options(std::move(o)), size(s), flow(std::move(f), "QueueInput"), consumed(position()) {}
  ~State() { stop(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void start(std::shared_ptr<DataQueue> target) {
    halt();
    if (!first) go_back();
    points = std::move(target);
    points->restart();
    pausing = false;
    worker = start_thread([this] { fill(*points); });
  }

  // Ends the thread and every run that waits for a point, now and later.
  void stop() {
    if (points != nullptr) points->cancel();
    halt();
  }

  // Ends the thread, wherever it waits. Runs that wait for a point keep waiting: towers that rest between two runs may
  // do so.
  void halt() {
    if (!worker.joinable()) return;
    pausing = true;
    points->wake();
    flow->cancel();
    worker.join();
    ahead = true;
  }

  // Back to the last point that was used. Only if reading continues: not every flow can go back far.
  void go_back() {
    if (ahead || first) flow->restore(*consumed);
    ahead = false;
    first.reset();
  }

  std::shared_ptr<const FlowState> position() const { return std::make_shared<const FlowState>(flow->state()); }

  void fill(DataQueue& target) {
    std::exception_ptr error;
    try {
      while (std::optional<DataPoint> point = first ? std::exchange(first, {}) : flow->next()) {
        check_point(name, signature, *point);
        if (!target.put({std::move(*point), position()}, &pausing)) return;
      }
    } catch (...) {
      error = std::current_exception();
    }
    if (pausing) return;             // the flow was cancelled: this is not its end
    target.close(std::move(error));  // after the handler: see BoundedQueue::close()
  }

  // Of the points that the last run took, the last one counts: they were taken in the order of the flow.
  void note_consumed(Session& session) {
    for (const Tensor& take : takes)
      if (const auto state = session.taken_state(take)) consumed = std::static_pointer_cast<const FlowState>(state);
  }

  // Drops what was read ahead; `move` sets the flow to where it continues.
  template <class Move>
  void read_again(Move&& move) {
    const bool running = worker.joinable();
    halt();
    try {
      move();
    } catch (...) {
      stop();  // nothing fills the queue any more: no run may wait for it
      throw;
    }
    ahead = false;
    first.reset();
    consumed = position();
    if (running) start(points);
  }

  QueueInputOptions options;
  std::optional<std::int64_t> size;
  ClaimedFlow flow;                // used by the worker alone while it runs
  bool ahead = false;              // the flow is past what was used, and may be cancelled
  std::optional<DataPoint> first;  // if it was read before the thread was started, which then begins with it
  std::string name;                // of the input, for messages
  std::vector<TensorSpec> signature;
  std::optional<Queue> queue;
  std::vector<Tensor> takes;  // the first component of each
  std::shared_ptr<const FlowState> consumed;
  std::shared_ptr<DataQueue> points;
  std::thread worker;
  std::atomic<bool> pausing = false;  // the worker is to end; the queue stays open
};

namespace {

class QueueCallback final : public Callback {
 public:
  explicit QueueCallback(std::shared_ptr<QueueInput::State> state) : state_(std::move(state)) {}

  void before_train() override { state_->start(trainer().session().queue(*state_->queue, trainer().trained_at())); }
  void after_run(const RunContext& context, const RunValues&) override { state_->note_consumed(context.session); }
  void after_train() override { state_->stop(); }

  std::string state() const override { return to_string(*state_->consumed); }
  void restore(const std::string& state) override {
    state_->read_again([&] { state_->flow->restore(flow_state_from_string(state)); });
  }
  bool holds_data_position() const override { return true; }
  bool declares_metrics() const override { return true; }
  bool chief_only() const override { return false; }
  std::string name() const override { return state_->name; }

 private:
  std::shared_ptr<QueueInput::State> state_;
};

}  // namespace

QueueInput::QueueInput(Flow flow, QueueInputOptions options) {
  const std::optional<std::int64_t> size = flow.size();
  if (options.infinite) flow = std::move(flow) | repeat();
  state_ = std::make_shared<State>(std::move(flow), size, std::move(options));
}

QueueInput::QueueInput(Flow flow, std::optional<std::int64_t> size, QueueInputOptions options)
    : state_(std::make_shared<State>(std::move(flow), size, std::move(options))) {}

std::optional<std::int64_t> QueueInput::size() const { return state_->size; }

bool QueueInput::endless() const { return state_->flow->endless(); }

void QueueInput::check_first_point() {
  if (state_->first || state_->points != nullptr) return;  // reading has begun: every point is checked
  state_->ahead = true;                                    // even if no point comes
  state_->first = state_->flow->next();
  state_->ahead = false;
  check_first(title(), signature(), state_->first, where());
}

void QueueInput::cancel_check() { state_->flow->cancel(); }

void QueueInput::reset_state() {
  state_->read_again([this] { state_->flow->start_epoch(0); });
}

void QueueInput::refill_queue() {
  state_->read_again([this] { state_->go_back(); });
}

void QueueInput::taken_through(const Tensors& gets) { state_->takes = gets; }

Callbacks QueueInput::make_callbacks() {
  state_->name = title();
  const LocationScope line(where());
  state_->signature = signature();
  state_->queue.emplace(state_->options.name, signature(), QueueOptions{.capacity = state_->options.capacity});
  if (state_->options.show_size) add_moving_summary({cast(state_->queue->size(), f32, state_->options.name + "_size")});
  return {QueueCallback(state_)};
}

Tensors QueueInput::make_tensors() {
  const LocationScope line(where());
  Tensors taken = state_->queue->dequeue();
  state_->takes.push_back(taken[0]);
  return taken;
}

namespace {

Flow batches(Flow flow, std::int64_t batch_size, bool infinite) {
  if (!infinite) return std::move(flow) | batch(batch_size, Remainder::keep);
  return std::move(flow) | repeat() | batch(batch_size);
}

// A finite pass gives its remainder as a smaller batch.
std::optional<std::int64_t> batches_in_a_pass(const Flow& flow, std::int64_t batch_size, bool infinite) {
  const std::optional<std::int64_t> points = flow.size();
  if (!points || batch_size < 1) return std::nullopt;
  return (infinite ? *points : *points + batch_size - 1) / batch_size;
}

}  // namespace

BatchQueueInput::BatchQueueInput(const Flow& flow, std::int64_t batch_size, QueueInputOptions options)
    : QueueInput(batches(flow, batch_size, options.infinite), batches_in_a_pass(flow, batch_size, options.infinite),
                 options) {}

}  // namespace belfry
