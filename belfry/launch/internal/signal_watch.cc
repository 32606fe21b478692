#include "belfry/launch/internal/signal_watch.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include "belfry/base/check.h"

namespace belfry {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM};

// What a signal handler may touch: lock-free atomics, and write() to a pipe.
std::atomic<int> pipe_end = -1;  // written to by the handler; -1: no watch
std::atomic<int> first_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void belfry_on_signal(int signal) {
  const int before = errno;
  int none = 0;
  if (!first_signal.compare_exchange_strong(none, signal)) {
    // The second one: as if nobody had been watching.
    ::signal(signal, SIG_DFL);
    ::raise(signal);
  } else if (const int end = pipe_end; end >= 0) {
    const char byte = 's';
    if (::write(end, &byte, 1) < 0) first_signal = 0;
  }
  errno = before;
}

}  // namespace

struct SignalWatch::Impl {
  std::function<void(int)> ask;
  std::array<int, 2> ends{-1, -1};
  std::array<struct sigaction, kSignals.size()> before{};
  std::thread thread;
};

SignalWatch::SignalWatch(std::function<void(int)> ask) : impl_(std::make_unique<Impl>()) {
  impl_->ask = std::move(ask);
  BELFRY_CHECK(::pipe(impl_->ends.data()) == 0, "[signals] expected a pipe, got: {}.", std::strerror(errno));
  int none = -1;
  if (!pipe_end.compare_exchange_strong(none, impl_->ends[1])) {
    ::close(impl_->ends[0]);
    ::close(impl_->ends[1]);
    fail(
        "[signals] expected one training that handles signals at a time, got a second one. Set "
        "TrainConfig::handle_signals = false in all but one.");
  }
  first_signal = 0;
  impl_->thread = std::thread([impl = impl_.get()] {
    char byte = 0;
    while (::read(impl->ends[0], &byte, 1) < 0 && errno == EINTR) {
    }
    if (byte == 's') impl->ask(first_signal);
  });
  struct sigaction action{};
  action.sa_handler = belfry_on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &action, &impl_->before[i]);
}

SignalWatch::~SignalWatch() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &impl_->before[i], nullptr);
  pipe_end = -1;
  ::close(impl_->ends[1]);  // ends the thread's read, if it still waits
  impl_->thread.join();
  ::close(impl_->ends[0]);
}

int SignalWatch::caught() const { return first_signal; }

}  // namespace belfry
