// Ctrl-C and SIGTERM while it lives: the first asks to stop, the second ends the program at once. SIGUSR1 only asks. A
// separate thread handles them, unless another thread has them unblocked; a signal that the program's parent set to be
// ignored stays ignored.
#pragma once

#include <functional>
#include <memory>

namespace belfry {

class SignalWatch {
 public:
  // `ask` is called by the watch's thread, so it may lock: for each SIGUSR1, and once for the others. One watch at a
  // time. At the end the earlier handlers are put back, and get a signal that caught() has not returned by then, unless
  // an exception is being thrown. The thread that begins a watch also ends it.
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
