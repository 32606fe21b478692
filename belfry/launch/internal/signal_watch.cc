#include "belfry/launch/internal/signal_watch.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "belfry/base/check.h"

namespace belfry {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM};

// What a signal handler may touch: lock-free atomics, and write() to a pipe. A handler may still run on another thread
// when its watch is over, so the pipe that it writes to is never closed.
std::atomic<int> pipe_end = -1;  // written to by the handler
std::atomic<int> first_signal = 0;
std::atomic<bool> watched = false;
static_assert(std::atomic<int>::is_always_lock_free);

constexpr char kSignalled = 's', kOver = 'o';

extern "C" void belfry_on_signal(int signal) {
  const int before = errno;
  int none = 0;
  if (!first_signal.compare_exchange_strong(none, signal)) {
    // The second one: as if nobody had been watching.
    ::signal(signal, SIG_DFL);
    ::raise(signal);
  } else if (::write(pipe_end, &kSignalled, 1) < 0) {
    first_signal = 0;
  }
  errno = before;
}

// One for the life of the process: a child that was forked has its own. Only whoever watches calls it.
const std::array<int, 2>& signal_pipe() {
  static std::array<int, 2> ends{-1, -1};
  static ::pid_t owner = 0;
  if (owner != ::getpid()) {
    std::array<int, 2> made{};
    BELFRY_CHECK(::pipe2(made.data(), O_CLOEXEC) == 0, "[signals] expected a pipe, got: {}.", std::strerror(errno));
    ends = made;
    owner = ::getpid();
    pipe_end = ends[1];
  }
  return ends;
}

// A byte of a handler that came after the end of its watch finds no signal and is skipped.
void watch(int pipe, const std::function<void(int)>& ask) {
  bool asked = false;
  char byte = 0;
  while (byte != kOver) {
    if (::read(pipe, &byte, 1) != 1) {
      if (errno == EINTR) continue;
      return;
    }
    if (byte == kSignalled && first_signal != 0 && !std::exchange(asked, true)) ask(first_signal);
  }
}

// While it lives, no other watch begins.
class OnlyWatch {
 public:
  OnlyWatch() {
    if (watched.exchange(true))
      fail(
          "[signals] expected one training that handles signals at a time, got a second one. Set "
          "TrainConfig::handle_signals = false in all but one.");
  }
  ~OnlyWatch() { watched = false; }
  OnlyWatch(const OnlyWatch&) = delete;
  OnlyWatch& operator=(const OnlyWatch&) = delete;
};

}  // namespace

struct SignalWatch::Impl {
  OnlyWatch only;  // the last to end
  std::function<void(int)> ask;
  std::array<int, 2> ends = signal_pipe();
  std::array<struct sigaction, kSignals.size()> before{};
  std::thread thread;
};

SignalWatch::SignalWatch(std::function<void(int)> ask) : impl_(std::make_unique<Impl>()) {
  impl_->ask = std::move(ask);
  first_signal = 0;
  impl_->thread = std::thread([impl = impl_.get()] { watch(impl->ends[0], impl->ask); });
  struct sigaction action{};
  action.sa_handler = belfry_on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &action, &impl_->before[i]);
}

SignalWatch::~SignalWatch() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &impl_->before[i], nullptr);
  while (::write(impl_->ends[1], &kOver, 1) < 0 && errno == EINTR) {
  }
  impl_->thread.join();
}

int SignalWatch::caught() const { return first_signal; }

}  // namespace belfry
