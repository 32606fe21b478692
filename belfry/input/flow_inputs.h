// Inputs that read a DataFlow.
//
// They repeat the flow without end, each pass the next epoch of the flow (so reshuffled); the trainer's epochs neither
// reset nor drain anything. With .infinite = false the end of the data ends training cleanly. An error in a flow is
// thrown by the run that would have used the point.
//
// state() of their callbacks is the position after the last point that a finished run has used, whatever was read
// ahead.
#pragma once

#include <memory>

#include "belfry/dataflow/flow.h"
#include "belfry/input/input_source.h"

#pragma GCC visibility push(default)
namespace belfry {

struct FlowInputOptions {
  bool infinite = true;
};

// Feeds a point to every hooked run, read when the run starts. For one tower only.
class FeedInput final : public InputSource {
 public:
  explicit FeedInput(Flow flow, FlowInputOptions options = {});
  std::optional<std::int64_t> size() const override;
  bool feed_free() const override { return false; }
  bool endless() const override;
  void check_first_point() override;
  void cancel_check() override;
  void reset_state() override;

  struct State;

 protected:
  Callbacks make_callbacks() override;
  Tensors make_tensors() override;

 private:
  std::shared_ptr<State> state_;
};

struct QueueInputOptions {
  int capacity = 50;  // how many points are read ahead
  bool infinite = true;
  std::string name = "input_queue";
  bool show_size = true;  // as a moving summary
};

// A thread reads the flow ahead into a queue; every run takes what it needs from it. The moving summary "<name>_size"
// shows how full the queue is.
class QueueInput : public InputSource {
 public:
  explicit QueueInput(Flow flow, QueueInputOptions options = {});
  std::optional<std::int64_t> size() const override;
  bool endless() const override;
  void check_first_point() override;
  void cancel_check() override;
  void reset_state() override;
  // Drops what was read ahead and reads it again: after a change to what the flow reads, say. No point is lost, and the
  // order stays. Other towers of an asynchronous training that wait for a point keep waiting; they may get points again
  // that they have had.
  void refill_queue();
  void taken_through(const Tensors& gets) override;

  struct State;

 protected:
  // The flow unchanged, with a size for one that does not know its own.
  QueueInput(Flow flow, std::optional<std::int64_t> size, QueueInputOptions options);
  Callbacks make_callbacks() override;
  Tensors make_tensors() override;

 private:
  std::shared_ptr<State> state_;
};

// The same for a flow of single points: the thread makes batches of them, across pass boundaries. With .infinite =
// false the last batch may be smaller.
class BatchQueueInput final : public QueueInput {
 public:
  BatchQueueInput(const Flow& flow, std::int64_t batch_size, QueueInputOptions options = {});
};

}  // namespace belfry
#pragma GCC visibility pop
