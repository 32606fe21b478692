// Gate: any number of threads may be inside at a time, or one of them alone. Whoever wants to be alone goes first, so
// that a stream of visitors cannot keep it out; it may enter again as often as it likes.
//
//   const GateVisit visit(&gate, given_up);   // waits while somebody is alone or wants to be
//   const GateAlone alone(&gate);             // waits until the others have left; those that come wait
#pragma once

#include <atomic>
#include <thread>

#include "belfry/base/mutex.h"

namespace belfry {

class Gate {
 public:
  // False, and not inside, if `given_up` is or becomes true (see wake()).
  bool enter(const std::atomic<bool>& given_up);
  void leave();
  void enter_alone();
  void leave_alone();
  // Whoever waits to enter looks at his flag again.
  void wake();

 private:
  bool mine() const BELFRY_REQUIRES(mutex_) { return depth_ > 0 && owner_ == std::this_thread::get_id(); }

  Mutex mutex_;
  Condition changed_;
  int inside_ BELFRY_GUARDED_BY(mutex_) = 0;   // without the one who is alone
  int waiting_ BELFRY_GUARDED_BY(mutex_) = 0;  // to be alone
  int depth_ BELFRY_GUARDED_BY(mutex_) = 0;    // how often the one who is alone has entered
  std::thread::id owner_ BELFRY_GUARDED_BY(mutex_);
};

// Inside until the end of the scope, unless it was given up. Without a gate, nothing.
class GateVisit {
 public:
  GateVisit(Gate* gate, const std::atomic<bool>& given_up)
      : gate_(gate != nullptr && gate->enter(given_up) ? gate : nullptr) {}
  ~GateVisit() {
    if (gate_ != nullptr) gate_->leave();
  }
  GateVisit(const GateVisit&) = delete;
  GateVisit& operator=(const GateVisit&) = delete;

 private:
  Gate* gate_;
};

class GateAlone {
 public:
  explicit GateAlone(Gate* gate) : gate_(gate) {
    if (gate_ != nullptr) gate_->enter_alone();
  }
  ~GateAlone() {
    if (gate_ != nullptr) gate_->leave_alone();
  }
  GateAlone(const GateAlone&) = delete;
  GateAlone& operator=(const GateAlone&) = delete;

 private:
  Gate* gate_;
};

}  // namespace belfry
