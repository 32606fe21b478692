#include "belfry/base/signal_mask.h"

#include <signal.h>

#include <utility>

#include "belfry/base/internal/alternate_stack.h"

namespace belfry {
namespace {

// Of the calling thread. Scopes nest, so the mask from before the outermost is the one to put back.
thread_local int depth = 0;
thread_local sigset_t mask_before;

const sigset_t& all_but_faults() {
  static const sigset_t set = [] {
    sigset_t out;
    sigfillset(&out);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) sigdelset(&out, fault);
    return out;
  }();
  return set;
}

}  // namespace

SignalsBlocked::SignalsBlocked() {
  if (depth++ == 0) ::pthread_sigmask(SIG_BLOCK, &all_but_faults(), &mask_before);
}

SignalsBlocked::~SignalsBlocked() {
  if (--depth == 0) ::pthread_sigmask(SIG_SETMASK, &mask_before, nullptr);
}

void take_no_signals() {
  thread_local bool done = false;
  if (std::exchange(done, true)) return;
  if (depth++ == 0) ::pthread_sigmask(SIG_BLOCK, &all_but_faults(), nullptr);  // and never less again
  thread_local const AlternateStack stack;
}

}  // namespace belfry
