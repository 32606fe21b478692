// Ctrl-C and SIGTERM while it lives: the first asks to stop, the second ends the program at once. They are handled by a
// thread of its own wherever no other has them unblocked; one that the program's parent set to be ignored stays
// ignored.
#pragma once

#include <functional>
#include <memory>

namespace belfry {

class SignalWatch {
 public:
  // `ask` is called once, by the watch's thread: it may lock. One watch at a time; the handlers that were there before
  // are put back at the end, and get a signal that nobody has asked for by then, unless an error is on its way. The
  // thread that begins a watch also ends it.
  explicit SignalWatch(std::function<void(int signal)> ask);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  int caught();  // the signal, or 0

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace belfry
