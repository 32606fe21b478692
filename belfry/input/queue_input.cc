#include <thread>

#include "belfry/base/check.h"
#include "belfry/dataflow/batch.h"
#include "belfry/dataflow/repeat.h"
#include "belfry/input/flow_inputs.h"
#include "belfry/loop/trainer.h"
#include "belfry/nn/summary.h"
#include "belfry/ops/basic.h"
#include "belfry/ops/queue.h"

namespace belfry {

// The thread that fills a queue, and where in the flow the runs are.
struct QueueInput::State {
  State(Flow f, std::optional<std::int64_t> s, QueueInputOptions o)
      : options(std::move(o)), size(s), flow(std::move(f)) {
    consumed = flow.state();
  }
  ~State() { stop(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void start(std::shared_ptr<DataQueue> target) {
    stop();
    points = std::move(target);
    points->reopen();
    worker = std::thread([this] { fill(*points); });
  }

  // Ends the thread, wherever it waits. What was read ahead is dropped; the flow goes back to what was used.
  void stop() {
    if (!worker.joinable()) return;
    points->cancel();
    flow->cancel();
    worker.join();
    flow.restore(consumed);
  }

  void fill(DataQueue& target) {
    std::exception_ptr error;
    try {
      while (std::optional<DataPoint> point = flow.next()) {
        check_point("QueueInput", signature, *point);
        if (!target.put({std::move(*point), std::make_shared<const FlowState>(flow.state())})) return;
      }
    } catch (...) {
      error = std::current_exception();
    }
    target.close(std::move(error));  // after the handler: see BoundedQueue::close()
  }

  // Of the points that the last run took, the last one counts: they were taken in the order of the flow.
  void note_consumed(Session& session) {
    for (const Tensor& take : takes)
      if (const auto state = session.taken_state(take)) last = std::static_pointer_cast<const FlowState>(state);
    if (last != nullptr) consumed = *last;
  }

  QueueInputOptions options;
  std::optional<std::int64_t> size;
  Flow flow;  // the worker's while that runs
  std::vector<TensorSpec> signature;
  std::optional<Queue> queue;
  std::vector<Tensor> takes;  // the first component of each
  FlowState consumed;
  std::shared_ptr<const FlowState> last;
  std::shared_ptr<DataQueue> points;
  std::thread worker;
};

namespace {

class QueueCallback final : public Callback {
 public:
  explicit QueueCallback(std::shared_ptr<QueueInput::State> state) : state_(std::move(state)) {}

  void before_train() override { state_->start(trainer().session().queue(*state_->queue)); }
  void after_run(const RunContext& context, const RunValues&) override { state_->note_consumed(context.session); }
  void after_train() override { state_->stop(); }

  std::string state() const override { return to_string(state_->consumed); }
  void restore(const std::string& state) override {
    state_->consumed = flow_state_from_string(state);
    state_->flow.restore(state_->consumed);
  }
  bool chief_only() const override { return false; }
  std::string name() const override { return "QueueInput"; }

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

void QueueInput::reset_state() {
  const bool running = state_->worker.joinable();
  state_->stop();
  state_->flow.start_epoch(0);
  state_->consumed = state_->flow.state();
  if (running) state_->start(state_->points);
}

void QueueInput::taken_through(const Tensors& gets) { state_->takes = gets; }

Callbacks QueueInput::make_callbacks() {
  state_->signature = signature();
  state_->queue.emplace(state_->options.name, signature(), QueueOptions{.capacity = state_->options.capacity});
  if (state_->options.show_size) add_moving_summary({cast(state_->queue->size(), f32, state_->options.name + "_size")});
  return {QueueCallback(state_)};
}

Tensors QueueInput::make_tensors() {
  Tensors taken = state_->queue->dequeue();
  state_->takes.push_back(taken[0]);
  return taken;
}

namespace {

Flow batches(Flow flow, std::int64_t batch_size, bool infinite) {
  if (!infinite) return std::move(flow) | batch(batch_size, Remainder::keep);
  return std::move(flow) | repeat() | batch(batch_size);
}

std::optional<std::int64_t> batches_in_a_pass(const Flow& flow, std::int64_t batch_size) {
  const std::optional<std::int64_t> points = flow.size();
  return points && batch_size > 0 ? std::optional(*points / batch_size) : std::nullopt;
}

}  // namespace

BatchQueueInput::BatchQueueInput(const Flow& flow, std::int64_t batch_size, QueueInputOptions options)
    : QueueInput(batches(flow, batch_size, options.infinite), batches_in_a_pass(flow, batch_size), options) {}

}  // namespace belfry
