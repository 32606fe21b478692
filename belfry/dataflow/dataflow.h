// DataFlow: what produces datapoints. The base class for writing one; flow.h has the handle that users compose.
//
// A flow is read in passes. Pass (epoch) k is a pure function of the flow's construction and k: whatever is random in
// it comes from (seed, epoch, index). A new flow stands at the start of epoch 0.
//
//   flow.start_epoch(3);
//   while (std::optional<DataPoint> point = flow.next()) use(*point);
//
// One thread uses a flow at a time; the exceptions are marked.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "belfry/array/array.h"
#include "belfry/dataflow/flow_state.h"

#pragma GCC visibility push(default)
namespace belfry {

// One datapoint: its components, for example an image and a label. Arrays may share memory with the flow they come
// from: clone() one before changing it in place.
using DataPoint = std::vector<Array>;

struct ComponentSpec {
  DType dtype = f32;
  Shape shape;
  bool operator==(const ComponentSpec&) const = default;
};

// What flows whose points can be read in any order offer. Index i is the i-th point of the current epoch's pass: in a
// shuffled flow, index 0 is another point in each epoch. Const members may be called from several threads at once, also
// while another thread is in next_index().
class RandomAccess {
 public:
  virtual std::int64_t count() const = 0;
  virtual DataPoint at(std::int64_t index) const = 0;
  // Moves on like DataFlow::next(), but gives the point's index instead of the point.
  virtual std::optional<std::int64_t> next_index() = 0;

  // If all points have the same components, and read_row() is cheaper than at(): those components. Else null.
  virtual const std::vector<ComponentSpec>* row_spec() const { return nullptr; }
  // Writes point `index`, component k to rows[k], which has room for it. Only if there is a row_spec().
  virtual void read_row(std::int64_t index, std::span<void* const> rows) const;

 protected:
  ~RandomAccess() = default;
};

class DataFlow {
 public:
  DataFlow() = default;
  virtual ~DataFlow() = default;
  DataFlow(const DataFlow&) {}  // a copy feeds nobody yet
  DataFlow& operator=(const DataFlow&) { return *this; }

  // Back to a new flow's state: the start of epoch 0.
  void reset_state() { start_epoch(0); }
  // Begins a pass, wherever the last one was left.
  virtual void start_epoch(std::uint64_t epoch) = 0;
  // The next point of this pass; nothing at its end, and again nothing when called again. After it threw, a stage may
  // refuse to go on until start_epoch() or restore().
  virtual std::optional<DataPoint> next() = 0;
  // The epoch of the pass that was begun last.
  virtual std::uint64_t epoch() const = 0;
  // Points in one pass, if that is known and finite. The same at all times.
  virtual std::optional<std::int64_t> size() const = 0;
  // Whether a pass is known to have no end, so that what needs all of its points can refuse it. From any thread.
  virtual bool endless() const { return false; }
  // Whether a pass gives its points in the same order each time. From any thread.
  virtual bool ordered() const { return true; }

  // restore(state()) of a flow that was built alike continues with exactly the points that would have come next.
  // After a restore() that threw, call start_epoch() or restore() before going on. A flow that draws on others takes no
  // points from them in restore(), but in the next next(): theirs may wait until more flows are restored (fan_out()).
  virtual FlowState state() const = 0;
  virtual void restore(const FlowState& state) = 0;

  // What decides which points come, and in which order; the same at all times. From any thread. Unless overridden, the
  // kind that states name: enough for a flow without parameters.
  virtual FlowIdentity identity() const { return {.kind = state().flow}; }
  // For people, in messages: "list | shuffle | batch(128)".
  virtual std::string describe() const = 0;
  // Null if points come only in order.
  virtual RandomAccess* random_access() { return nullptr; }
  // From any thread: ends a next() that waits, now or later, with an Error; start_epoch() and restore() lift it.
  // Sources implement it, because a stage after them may want many of their points; stages pass it on to their source.
  virtual void cancel() {}

 private:
  friend class ClaimedFlow;
  friend class Flow;
  bool feeds_another_ = false;  // a flow has one consumer: two would take each other's points
};

}  // namespace belfry
#pragma GCC visibility pop
