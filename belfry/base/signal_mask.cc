#include "belfry/base/signal_mask.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "belfry/base/log.h"

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

// Of the calling thread, which had none before, for as long as it lives.
class AlternateStack {
 public:
  AlternateStack() {
    stack_t present{};
    if (::sigaltstack(nullptr, &present) != 0 || (present.ss_flags & SS_DISABLE) == 0) return;
    constexpr long kLeast = 64 << 10;
    const auto size = static_cast<std::size_t>(std::max(::sysconf(_SC_SIGSTKSZ), kLeast));
    void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      log_debug("[signals] no memory for a thread's alternate stack");
      return;
    }
    own_.ss_sp = memory;
    own_.ss_size = size;
    ::sigaltstack(&own_, nullptr);
  }
  ~AlternateStack() {
    if (own_.ss_sp == nullptr) return;
    stack_t present{};
    ::sigaltstack(nullptr, &present);
    if (present.ss_sp == own_.ss_sp) {
      present.ss_flags = SS_DISABLE;
      ::sigaltstack(&present, nullptr);
    }
    ::munmap(own_.ss_sp, own_.ss_size);
  }
  AlternateStack(const AlternateStack&) = delete;
  AlternateStack& operator=(const AlternateStack&) = delete;

 private:
  stack_t own_{};
};

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
