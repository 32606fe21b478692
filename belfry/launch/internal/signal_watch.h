// Ctrl-C and SIGTERM while it lives: the first asks to stop, the second ends the program at once.
#pragma once

#include <functional>
#include <memory>

namespace belfry {

class SignalWatch {
 public:
  // `ask` is called once, by a thread of its own: it may lock. One watch at a time; the handlers that were there before
  // are put back at the end.
  explicit SignalWatch(std::function<void(int signal)> ask);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  int caught() const;  // the signal, or 0

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace belfry
