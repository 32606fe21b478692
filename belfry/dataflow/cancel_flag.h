// Whether a flow is cancelled: set from any thread, asked by the one that reads the flow.
#pragma once

#include <atomic>

#include "belfry/dataflow/dataflow.h"

#pragma GCC visibility push(default)
namespace belfry {

class CancelFlag {
 public:
  CancelFlag() = default;
  CancelFlag(const CancelFlag&) {}  // a copy of a flow is not cancelled
  CancelFlag& operator=(const CancelFlag&) { return *this; }

  void set() { set_ = true; }
  bool lift() { return set_.exchange(false); }  // whether it was set

  // Throws Cancelled if it is set. `flow` is the one that was cancelled, for the message.
  void check(const DataFlow& flow) const {
    if (set_) refuse(flow);
  }

 private:
  [[noreturn]] static void refuse(const DataFlow& flow);

  std::atomic<bool> set_ = false;
};

}  // namespace belfry
#pragma GCC visibility pop
