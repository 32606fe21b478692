// What lies between the threads of a parallel map() and its consumer: the points that are read and not yet consumed.
//
// Points are numbered as they are read: 0, 1, ... since the pass, or the restored position, began. Those that are
// under way have a slot each, in a ring. The consumer takes them in order or in the order in which they are made.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <optional>
#include <vector>

#include "belfry/base/mutex.h"
#include "belfry/dataflow/dataflow.h"

namespace belfry {

struct MappedPoint {
  std::uint64_t number = 0;
  FlowState after{};                  // the source's state once the point was read
  std::optional<DataPoint> result{};  // nothing: dropped
  std::exception_ptr error{};
};

// What is consumed: all before `base`, and those in `ahead` after it.
struct Consumed {
  std::uint64_t base = 0;
  FlowState at_base{};  // the source's state there
  std::vector<std::uint64_t> ahead{};
};

class MapWindow {
 public:
  MapWindow(std::size_t slots, bool ordered) : ordered_(ordered), slots_(slots) {}

  // Empty, open, at number 0. Only while no other thread uses the window.
  void restart(FlowState at_base);

  // -- For the worker that reads, one at a time
  // Waits for this many free slots (at most capacity()). Returns the number of the next point; nothing if no more are
  // wanted.
  std::optional<std::uint64_t> reserve(std::size_t slots);
  // This many points were read. `last`: there are no more.
  void add(std::size_t points, bool last);

  // -- For all workers
  void put(std::vector<MappedPoint>&& points);  // after an error nothing more is wanted
  void fail(std::exception_ptr error);  // of the worker itself: the next take() returns it, whatever else is ready

  // -- For the consumer
  // Waits for a point. Nothing at the end, or once halted. Taking a point with an error does not consume it.
  std::optional<MappedPoint> take();
  Consumed consumed() const;

  // Ends every wait, now and later.
  void halt();
  bool halted() const { return halted_; }
  std::size_t capacity() const { return slots_.size(); }

 private:
  struct Slot {
    MappedPoint point;
    bool made = false, consumed = false;
  };
  Slot& slot(std::uint64_t number) BELFRY_REQUIRES(mutex_) { return slots_[number % slots_.size()]; }
  std::size_t free_slots() const BELFRY_REQUIRES(mutex_) { return slots_.size() - (next_ - base_); }
  bool can_take() BELFRY_REQUIRES(mutex_) { return ordered_ ? slot(base_).made : !made_.empty(); }
  void advance() BELFRY_REQUIRES(mutex_);

  const bool ordered_;
  mutable Mutex mutex_;
  Condition room_;           // signalled when slots become free, or at the end
  Condition ready_;          // signalled when there is something to take, or at the end
  std::vector<Slot> slots_;  // the size never changes; elements guarded by mutex_
  std::deque<std::uint64_t> made_ BELFRY_GUARDED_BY(mutex_);  // ready to be taken; not used if ordered
  FlowState at_base_ BELFRY_GUARDED_BY(mutex_);
  std::uint64_t base_ BELFRY_GUARDED_BY(mutex_) = 0;       // the first that is not consumed
  std::uint64_t next_ BELFRY_GUARDED_BY(mutex_) = 0;       // the next to be read
  std::size_t room_wanted_ BELFRY_GUARDED_BY(mutex_) = 0;  // by the worker that waits
  bool consumer_waits_ BELFRY_GUARDED_BY(mutex_) = false;
  bool no_more_ BELFRY_GUARDED_BY(mutex_) = false;
  std::exception_ptr failure_ BELFRY_GUARDED_BY(mutex_);
  std::atomic<bool> halted_ = false;  // changed under the lock, so that no thread that waits misses it
};

}  // namespace belfry
