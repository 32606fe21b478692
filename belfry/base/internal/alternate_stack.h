// A stack for the handlers of signals, beside the thread's own.
#pragma once

#include <cstddef>

#pragma GCC visibility push(default)
namespace belfry {

// While it lives, handlers that were installed with SA_ONSTACK run on it when they interrupt the thread that made it,
// which must also end it. A thread that has an alternate stack keeps that.
class AlternateStack {
 public:
  AlternateStack();
  ~AlternateStack();
  AlternateStack(const AlternateStack&) = delete;
  AlternateStack& operator=(const AlternateStack&) = delete;

 private:
  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace belfry
#pragma GCC visibility pop
