// Signals stay away from threads that compute. oneDNN's products move the stack pointer into memory of the heap while
// they run; a handler's frame would be written there, over whatever lies beside it.
#pragma once

#pragma GCC visibility push(default)
namespace belfry {

// While it lives, the calling thread handles no signal, and threads that it starts never do; what comes meanwhile is
// handled afterwards, or by another thread. Faults (SIGSEGV and the like) are not blocked. Within another one of the
// same thread it costs nothing.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
};

// For threads of ours: the same until the thread ends, and with an alternate stack, on which handlers of faults run if
// they were installed with SA_ONSTACK. A second call does nothing.
void take_no_signals();

}  // namespace belfry
#pragma GCC visibility pop
