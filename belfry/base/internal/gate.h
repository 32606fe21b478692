// Gate: either any number of threads are inside (visitors), or a single one (alone). A thread that wants to be alone
// goes first, so that a stream of visitors cannot keep it out, and it may enter again while it is inside. A visitor may
// not: it could wait for a thread that waits for the visitor to leave.
//
//   const GateVisit visit(&gate, given_up);   // waits while somebody is alone or wants to be
//   const GateAlone alone(&gate, given_up);   // waits until the others have left; newcomers wait
#pragma once

#include <atomic>
#include <vector>

#include "belfry/base/mutex.h"

#pragma GCC visibility push(default)
namespace belfry {

class Gate {
 public:
  // False, and not inside, if it would have to wait while `given_up` is or becomes true (see wake()). Both throw if
  // this thread is a visitor.
  bool enter(const std::atomic<bool>& given_up);
  bool enter_alone(const std::atomic<bool>& given_up);
  void leave();
  void leave_alone();
  // Makes all threads that wait check their flags again.
  void wake();

 private:
  bool mine() const BELFRY_REQUIRES(mutex_);
  void check_outside() const BELFRY_REQUIRES(mutex_);

  Mutex mutex_;
  Condition changed_;
  std::vector<const void*> inside_ BELFRY_GUARDED_BY(mutex_);  // the threads, without the one who is alone
  int waiting_ BELFRY_GUARDED_BY(mutex_) = 0;                  // to be alone
  int depth_ BELFRY_GUARDED_BY(mutex_) = 0;                    // how often the one who is alone has entered
  const void* owner_ BELFRY_GUARDED_BY(mutex_) = nullptr;      // who that is
};

// Inside until the end of the scope, unless it was given up. Without a gate, nothing.
class GateVisit {
 public:
  GateVisit(Gate* gate, const std::atomic<bool>& given_up)
      : gate_(gate), inside_(gate == nullptr || gate->enter(given_up)) {}
  ~GateVisit() {
    if (gate_ != nullptr && inside_) gate_->leave();
  }
  GateVisit(const GateVisit&) = delete;
  GateVisit& operator=(const GateVisit&) = delete;
  bool inside() const { return inside_; }  // not given up

 private:
  Gate* gate_;
  bool inside_;
};

class GateAlone {
 public:
  GateAlone(Gate* gate, const std::atomic<bool>& given_up)
      : gate_(gate), inside_(gate == nullptr || gate->enter_alone(given_up)) {}
  ~GateAlone() {
    if (gate_ != nullptr && inside_) gate_->leave_alone();
  }
  GateAlone(const GateAlone&) = delete;
  GateAlone& operator=(const GateAlone&) = delete;
  bool inside() const { return inside_; }

 private:
  Gate* gate_;
  bool inside_;
};

}  // namespace belfry
#pragma GCC visibility pop
